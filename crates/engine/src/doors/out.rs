//! Replies as RESP bytes: the one form that every door shares. The TCP door sends them as they are, the
//! direct door and the Lua bridge read them back. A handler writes its reply here; what it wrote before
//! failing is cut by the dispatcher.

use crate::data::geohash::GeoPoint;
use crate::data::num;

/// A reply being written, in RESP2 or RESP3.
#[derive(Debug, Default)]
pub(crate) struct Out {
    pub(crate) buf: Vec<u8>,
    pub(crate) resp3: bool,
}

/// The offset at which an array of unknown length began.
#[derive(Debug, Clone, Copy)]
#[must_use = "close the array with `end_array`"]
pub(crate) struct Mark(usize);

impl Out {
    pub(crate) fn new(resp3: bool) -> Self {
        Out { buf: Vec::new(), resp3 }
    }

    fn header(&mut self, kind: u8, n: i64) {
        self.buf.push(kind);
        let mut digits = itoa::Buffer::new();
        self.buf.extend_from_slice(digits.format(n).as_bytes());
        self.buf.extend_from_slice(b"\r\n");
    }

    fn len_header(&mut self, kind: u8, n: usize) {
        self.header(kind, i64::try_from(n).unwrap_or(i64::MAX));
    }

    /// `+OK`.
    pub(crate) fn ok(&mut self) {
        self.buf.extend_from_slice(b"+OK\r\n");
    }

    /// A simple string; line breaks become spaces.
    pub(crate) fn status(&mut self, text: &str) {
        self.buf.push(b'+');
        self.line(text.as_bytes());
    }

    /// An error reply; `text` starts with its code, such as `ERR`.
    pub(crate) fn error(&mut self, text: &str) {
        self.error_bytes(text.as_bytes());
    }

    /// The same from bytes that need not be UTF-8.
    pub(crate) fn error_bytes(&mut self, text: &[u8]) {
        self.buf.push(b'-');
        self.line(text);
    }

    fn line(&mut self, text: &[u8]) {
        self.buf.extend(text.iter().map(|&b| if b == b'\r' || b == b'\n' { b' ' } else { b }));
        self.buf.extend_from_slice(b"\r\n");
    }

    /// An integer.
    pub(crate) fn int(&mut self, n: i64) {
        self.header(b':', n);
    }

    /// A count as an integer.
    pub(crate) fn len(&mut self, n: usize) {
        self.len_header(b':', n);
    }

    /// 1 or 0 (an integer in both protocols, as most commands answer).
    pub(crate) fn flag(&mut self, yes: bool) {
        self.buf.extend_from_slice(if yes { b":1\r\n" } else { b":0\r\n" });
    }

    /// A RESP3 boolean; 1 or 0 in RESP2.
    pub(crate) fn bool(&mut self, yes: bool) {
        if self.resp3 {
            self.buf.extend_from_slice(if yes { b"#t\r\n" } else { b"#f\r\n" });
        } else {
            self.flag(yes);
        }
    }

    /// A bulk string.
    pub(crate) fn bulk(&mut self, bytes: &[u8]) {
        self.len_header(b'$', bytes.len());
        self.buf.extend_from_slice(bytes);
        self.buf.extend_from_slice(b"\r\n");
    }

    /// A bulk string or null.
    pub(crate) fn bulk_opt(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// A number as a bulk string.
    pub(crate) fn bulk_int(&mut self, n: i64) {
        let mut digits = itoa::Buffer::new();
        self.bulk(digits.format(n).as_bytes());
    }

    /// A RESP3 double; a bulk string in RESP2.
    pub(crate) fn double(&mut self, value: f64) {
        self.double_text(&num::fmt_double(value));
    }

    fn double_text(&mut self, text: &[u8]) {
        if self.resp3 {
            self.buf.push(b',');
            self.buf.extend_from_slice(text);
            self.buf.extend_from_slice(b"\r\n");
        } else {
            self.bulk(text);
        }
    }

    /// Longitude and latitude, with up to 17 decimals.
    pub(crate) fn place(&mut self, place: GeoPoint) {
        self.array(2);
        for degrees in [place.longitude, place.latitude] {
            let mut text = Vec::with_capacity(24);
            num::fmt_human(degrees.into(), &mut text);
            self.double_text(&text);
        }
    }

    /// Text with a format of three letters (`txt`, `mkd`); a bulk string in RESP2.
    pub(crate) fn verbatim(&mut self, format: &str, text: &[u8]) {
        if self.resp3 {
            self.len_header(b'=', text.len() + 4);
            self.buf.extend_from_slice(format.as_bytes());
            self.buf.push(b':');
            self.buf.extend_from_slice(text);
            self.buf.extend_from_slice(b"\r\n");
        } else {
            self.bulk(text);
        }
    }

    /// No value: `_` in RESP3, a null bulk string in RESP2.
    pub(crate) fn null(&mut self) {
        self.buf.extend_from_slice(if self.resp3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// No array: `_` in RESP3, a null array in RESP2.
    pub(crate) fn null_array(&mut self) {
        self.buf.extend_from_slice(if self.resp3 { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// An array of `n` elements, which follow.
    pub(crate) fn array(&mut self, n: usize) {
        self.len_header(b'*', n);
    }

    /// A map of `n` pairs; a flat array of `2 n` in RESP2.
    pub(crate) fn map(&mut self, n: usize) {
        if self.resp3 { self.len_header(b'%', n) } else { self.len_header(b'*', n * 2) }
    }

    /// A set of `n` elements; an array in RESP2.
    pub(crate) fn set(&mut self, n: usize) {
        self.len_header(if self.resp3 { b'~' } else { b'*' }, n);
    }

    /// An out-of-band message of `n` elements; an array in RESP2.
    pub(crate) fn push(&mut self, n: usize) {
        self.len_header(if self.resp3 { b'>' } else { b'*' }, n);
    }

    /// Members, each with its score when asked for: nested pairs in RESP3, flat in RESP2.
    pub(crate) fn scored(&mut self, pairs: &[(&[u8], f64)], with_scores: bool) {
        let nested = self.resp3 && with_scores;
        self.array(if with_scores && !nested { pairs.len() * 2 } else { pairs.len() });
        for (member, score) in pairs {
            if nested {
                self.array(2);
            }
            self.bulk(member);
            if with_scores {
                self.double(*score);
            }
        }
    }

    /// The lines of a `HELP` subcommand.
    pub(crate) fn help(&mut self, command: &str, lines: &[&str]) {
        self.array(lines.len() + 3);
        self.status(&format!("{command} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
        for line in lines {
            self.status(line);
        }
        self.status("HELP");
        self.status("    Prints this help.");
    }

    /// An array whose length is known only at its end.
    pub(crate) fn begin_array(&mut self) -> Mark {
        Mark(self.buf.len())
    }

    /// Writes the header of an array begun with [`Out::begin_array`].
    pub(crate) fn end_array(&mut self, mark: Mark, n: usize) {
        self.end_deferred(mark, b'*', n);
    }

    /// The same for a map of `n` pairs.
    pub(crate) fn end_map(&mut self, mark: Mark, n: usize) {
        if self.resp3 {
            self.end_deferred(mark, b'%', n);
        } else {
            self.end_deferred(mark, b'*', n * 2);
        }
    }

    fn end_deferred(&mut self, mark: Mark, kind: u8, n: usize) {
        let mut digits = itoa::Buffer::new();
        let text = digits.format(n).as_bytes();
        let header = std::iter::once(kind).chain(text.iter().copied()).chain(*b"\r\n");
        self.buf.splice(mark.0..mark.0, header);
    }
}
