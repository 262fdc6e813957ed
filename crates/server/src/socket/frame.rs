//! Text frames as pieces: a header of its own before bytes that many sockets may share.

use std::io::IoSlice;
use std::ops::Deref;

/// The bytes before a text in its frame.
pub(crate) struct FrameHeader {
    bytes: [u8; 10],
    len: usize,
}

impl FrameHeader {
    /// Of a text of so many bytes, whole in one frame.
    pub(crate) fn text(len: usize) -> Self {
        const WHOLE_TEXT: u8 = 0x81;
        let mut bytes = [0; 10];
        bytes[0] = WHOLE_TEXT;
        let len = match (u8::try_from(len), u16::try_from(len)) {
            (Ok(short @ ..126), _) => {
                bytes[1] = short;
                2
            }
            (_, Ok(medium)) => {
                bytes[1] = 126;
                bytes[2..4].copy_from_slice(&medium.to_be_bytes());
                4
            }
            _ => {
                bytes[1] = 127;
                bytes[2..].copy_from_slice(&(len as u64).to_be_bytes());
                10
            }
        };
        FrameHeader { bytes, len }
    }
}

impl Deref for FrameHeader {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

pub(super) fn headers<T: Deref<Target = str>>(texts: &[T]) -> Vec<FrameHeader> {
    texts.iter().map(|text| FrameHeader::text(text.len())).collect()
}

/// Headers and texts in turn.
pub(super) fn pieces<'a, T: Deref<Target = str>>(
    headers: &'a [FrameHeader],
    texts: &'a [T],
) -> Vec<IoSlice<'a>> {
    let both = headers.iter().zip(texts).flat_map(|(header, text)| [&**header, text.as_bytes()]);
    both.map(IoSlice::new).collect()
}
