//! Lua 5.1 patterns. The matcher is ours because the one in C cannot be interrupted: a short pattern on
//! a long text ran for ten seconds. This one counts its steps and stops when the script must end.

use mlua::Error;

use super::watch::Meter;

const MAX_CAPTURES: usize = 32; // Lua's own limit
/// Each level takes native stack; Lua 5.1 has no limit here and would overflow it instead.
const MAX_DEPTH: u32 = 1500;
const ESCAPE: u8 = b'%';

/// The content of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Capture {
    /// From, length.
    Text(usize, usize),
    /// `()`: where it stands, counted from 0.
    Position(usize),
    /// Not closed.
    Open(usize),
}

/// Why matching ended without an answer.
pub(crate) enum Fail {
    /// The pattern is wrong; the text is Lua's.
    Pattern(&'static str),
    /// The script must end.
    Stop(Error),
}

type Matched = Result<Option<usize>, Fail>;

/// One pattern on one text.
pub(crate) struct Matcher<'a, 'w> {
    text: &'a [u8],
    pattern: &'a [u8],
    pub(crate) captures: Vec<Capture>,
    meter: Meter<'w>,
    depth: u32,
}

impl<'a, 'w> Matcher<'a, 'w> {
    /// The pattern ends at its first NUL, as in Lua 5.1.
    pub(crate) fn new(text: &'a [u8], pattern: &'a [u8], meter: Meter<'w>) -> Self {
        let end = memchr::memchr(0, pattern).unwrap_or(pattern.len());
        Self { text, pattern: &pattern[..end], captures: Vec::new(), meter, depth: 0 }
    }

    /// Whether the pattern is bound to the start; `find`, `match` and `gsub` honour that.
    pub(crate) fn take_anchor(&mut self) -> bool {
        let anchored = self.pattern.first() == Some(&b'^');
        if anchored {
            self.pattern = &self.pattern[1..];
        }
        anchored
    }

    /// Matches the whole pattern at `start`; gives the end of the match.
    pub(crate) fn at(&mut self, start: usize) -> Matched {
        self.captures.clear();
        self.depth = 0;
        self.run(start, 0)
    }

    fn byte(&self, p: usize) -> u8 {
        self.pattern.get(p).copied().unwrap_or(0)
    }

    fn tick(&mut self) -> Result<(), Fail> {
        self.meter.step(0).map_err(Fail::Stop)
    }

    /// A nested attempt, which may fail and be tried otherwise.
    fn nested(&mut self, s: usize, p: usize) -> Matched {
        if self.depth >= MAX_DEPTH {
            return Err(Fail::Pattern("pattern too complex"));
        }
        self.depth += 1;
        let result = self.run(s, p);
        self.depth -= 1;
        result
    }

    fn run(&mut self, mut s: usize, mut p: usize) -> Matched {
        loop {
            self.tick()?;
            match self.byte(p) {
                0 => return Ok(Some(s)),
                b'(' if self.byte(p + 1) == b')' => {
                    return self.open(s, p + 2, Capture::Position(s));
                }
                b'(' => return self.open(s, p + 1, Capture::Open(s)),
                b')' => return self.close(s, p + 1),
                b'$' if self.byte(p + 1) == 0 => {
                    return Ok((s == self.text.len()).then_some(s));
                }
                ESCAPE => match self.byte(p + 1) {
                    b'b' => match self.balanced(s, p + 2)? {
                        Some(end) => (s, p) = (end, p + 4),
                        None => return Ok(None),
                    },
                    b'f' => match self.frontier(s, p + 2)? {
                        Some(after) => p = after,
                        None => return Ok(None),
                    },
                    digit if digit.is_ascii_digit() => match self.again(s, digit)? {
                        Some(end) => (s, p) = (end, p + 2),
                        None => return Ok(None),
                    },
                    _ => match self.item(s, p)? {
                        MatchStep::On(next) => (s, p) = next,
                        MatchStep::Done(result) => return Ok(result),
                    },
                },
                _ => match self.item(s, p)? {
                    MatchStep::On(next) => (s, p) = next,
                    MatchStep::Done(result) => return Ok(result),
                },
            }
        }
    }

    /// A single-character class with its repetition.
    fn item(&mut self, s: usize, p: usize) -> Result<MatchStep, Fail> {
        let end = self.class_end(p)?;
        let matches = self.single(s, p, end);
        Ok(match self.byte(end) {
            b'?' => {
                if matches && let Some(found) = self.nested(s + 1, end + 1)? {
                    return Ok(MatchStep::Done(Some(found)));
                }
                MatchStep::On((s, end + 1))
            }
            b'*' => MatchStep::Done(self.longest(s, p, end)?),
            b'+' if matches => MatchStep::Done(self.longest(s + 1, p, end)?),
            b'+' => MatchStep::Done(None),
            b'-' => MatchStep::Done(self.shortest(s, p, end)?),
            _ if matches => MatchStep::On((s + 1, end)),
            _ => MatchStep::Done(None),
        })
    }

    fn longest(&mut self, s: usize, p: usize, end: usize) -> Matched {
        let mut count = 0;
        while self.single(s + count, p, end) {
            self.tick()?;
            count += 1;
        }
        loop {
            if let Some(found) = self.nested(s + count, end + 1)? {
                return Ok(Some(found));
            }
            if count == 0 {
                return Ok(None);
            }
            count -= 1;
        }
    }

    fn shortest(&mut self, mut s: usize, p: usize, end: usize) -> Matched {
        loop {
            if let Some(found) = self.nested(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.single(s, p, end) {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn open(&mut self, s: usize, p: usize, capture: Capture) -> Matched {
        if self.captures.len() >= MAX_CAPTURES {
            return Err(Fail::Pattern("too many captures"));
        }
        let level = self.captures.len();
        self.captures.push(capture);
        let found = self.nested(s, p)?;
        if found.is_none() {
            self.captures.truncate(level);
        }
        Ok(found)
    }

    fn close(&mut self, s: usize, p: usize) -> Matched {
        let last = self.captures.iter().rposition(|c| matches!(c, Capture::Open(_)));
        let Some(level) = last else { return Err(Fail::Pattern("invalid pattern capture")) };
        let Capture::Open(start) = self.captures[level] else { return Ok(None) };
        self.captures[level] = Capture::Text(start, s - start);
        let found = self.nested(s, p)?;
        if found.is_none()
            && let Some(capture) = self.captures.get_mut(level)
        {
            *capture = Capture::Open(start);
        }
        Ok(found)
    }

    /// `%1`: the same text as an earlier capture.
    fn again(&mut self, s: usize, digit: u8) -> Matched {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        match self.captures.get(index) {
            Some(Capture::Text(start, length)) => {
                let earlier = &self.text[*start..start + length];
                Ok(self.text[s..].starts_with(earlier).then_some(s + length))
            }
            // A position never equals a text.
            Some(Capture::Position(_)) => Ok(None),
            _ => Err(Fail::Pattern("invalid capture index")),
        }
    }

    /// `%bxy`.
    fn balanced(&mut self, s: usize, p: usize) -> Matched {
        let (open, close) = (self.byte(p), self.byte(p + 1));
        if open == 0 || close == 0 {
            return Err(Fail::Pattern("unbalanced pattern"));
        }
        if self.text.get(s) != Some(&open) {
            return Ok(None);
        }
        let mut depth = 1usize;
        for at in s + 1..self.text.len() {
            self.tick()?;
            let byte = self.text[at];
            if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Ok(Some(at + 1));
                }
            } else if byte == open {
                depth += 1;
            }
        }
        Ok(None)
    }

    /// `%f[set]`; gives the place in the pattern behind the set.
    fn frontier(&mut self, s: usize, p: usize) -> Matched {
        if self.byte(p) != b'[' {
            return Err(Fail::Pattern("missing '[' after '%f' in pattern"));
        }
        let end = self.class_end(p)?;
        let before = if s == 0 { 0 } else { self.text[s - 1] };
        let here = self.text.get(s).copied().unwrap_or(0);
        let edge = !self.in_set(before, p, end - 1) && self.in_set(here, p, end - 1);
        Ok(edge.then_some(end))
    }

    /// The end of the class that starts at `p`.
    fn class_end(&self, p: usize) -> Result<usize, Fail> {
        match self.byte(p) {
            ESCAPE if self.byte(p + 1) == 0 => {
                Err(Fail::Pattern("malformed pattern (ends with '%')"))
            }
            ESCAPE => Ok(p + 2),
            b'[' => {
                let mut at = p + 1;
                if self.byte(at) == b'^' {
                    at += 1;
                }
                loop {
                    let byte = self.byte(at);
                    if byte == 0 {
                        return Err(Fail::Pattern("malformed pattern (missing ']')"));
                    }
                    at += 1;
                    if byte == ESCAPE && self.byte(at) != 0 {
                        at += 1;
                    }
                    if self.byte(at) == b']' {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(p + 1),
        }
    }

    fn single(&self, s: usize, p: usize, end: usize) -> bool {
        let Some(&byte) = self.text.get(s) else { return false };
        match self.byte(p) {
            b'.' => true,
            ESCAPE => in_class(byte, self.byte(p + 1)),
            b'[' => self.in_set(byte, p, end - 1),
            plain => plain == byte,
        }
    }

    /// `p` is at `[`, `last` at the closing bracket.
    fn in_set(&self, byte: u8, mut p: usize, last: usize) -> bool {
        let mut positive = true;
        if self.byte(p + 1) == b'^' {
            positive = false;
            p += 1;
        }
        p += 1;
        while p < last {
            if self.byte(p) == ESCAPE {
                p += 1;
                if in_class(byte, self.byte(p)) {
                    return positive;
                }
            } else if self.byte(p + 1) == b'-' && p + 2 < last {
                if (self.byte(p)..=self.byte(p + 2)).contains(&byte) {
                    return positive;
                }
                p += 2;
            } else if self.byte(p) == byte {
                return positive;
            }
            p += 1;
        }
        !positive
    }
}

enum MatchStep {
    On((usize, usize)),
    Done(Option<usize>),
}

fn in_class(byte: u8, class: u8) -> bool {
    let member = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => matches!(byte, b' ' | 0x09..=0x0d),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    member != class.is_ascii_uppercase()
}
