//! The state for one socket, as it waits to be sent: no text, but where its parts stand in the text that all sockets share,
//! and the own ship. It holds that text alive, so it must not wait for somebody who does not read.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;

use super::frame::Frame;
use crate::socket::FrameHeader;

/// The state for one socket: where its parts stand in what all share, and what is its own.
pub(crate) struct State {
    frame: Arc<Frame>,
    spans: Vec<Range<usize>>,
    /// From the end of the list of ships.
    tail: Vec<u8>,
    head: FrameHeader,
    len: usize,
}

impl State {
    pub(super) fn new(frame: Arc<Frame>, spans: Vec<Range<usize>>, tail: Vec<u8>) -> Self {
        let len = spans.iter().map(Range::len).sum::<usize>() + tail.len();
        State { frame, spans, tail, head: FrameHeader::text(len), len }
    }

    pub(crate) fn tick(&self) -> u64 {
        self.frame.seen.tick
    }

    /// Bytes of the message, without what stands before it in its frame.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The frame that holds the message.
    pub(crate) fn pieces(&self) -> Vec<IoSlice<'_>> {
        let text = self.frame.text().as_bytes();
        let mut pieces = Vec::with_capacity(self.spans.len() + 2);
        pieces.push(IoSlice::new(&self.head));
        pieces.extend(self.spans.iter().map(|span| IoSlice::new(&text[span.clone()])));
        pieces.push(IoSlice::new(&self.tail));
        pieces
    }
}

/// Parts of a text, in order; those that touch are one.
pub(super) struct Spans {
    done: Vec<Range<usize>>,
    last: Range<usize>,
}

impl Spans {
    pub(super) fn new(first: Range<usize>, most: usize) -> Self {
        Spans { done: Vec::with_capacity(most + 1), last: first }
    }

    pub(super) fn add(&mut self, next: Range<usize>) {
        if self.last.end == next.start {
            self.last.end = next.end;
        } else {
            self.done.push(std::mem::replace(&mut self.last, next));
        }
    }

    /// Without the comma behind the last one, where there is any.
    pub(super) fn end(mut self, comma: bool) -> Vec<Range<usize>> {
        self.last.end -= usize::from(comma);
        self.done.push(self.last);
        self.done
    }
}
