//! Patterns of keys, compiled with the program. A pattern does not build when a placeholder is not
//! a parameter, or when one that may hold `:` is not last. Writing a key is one allocation;
//! matching one copies nothing.

use super::ids::{Arg, BadId, Flaw, Kind};
use super::{Key, Layout};

/// A placeholder: its name as the builder's parameter has it, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// `tenant_id`; the pattern may spell it `{tenantId}`, as its seed does.
    pub name: &'static str,
    /// The kind of values that the placeholder takes.
    pub kind: Kind,
}

const MAX_STEPS: usize = 24;

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternPart {
    /// These bytes of the pattern's text, as they are.
    Text { from: u8, to: u8 },
    /// The placeholder of that number.
    Part(u8),
    /// The same, inside a hash tag.
    Tag(u8),
}

/// A pattern as declared: `room:{code}:meta`. Doubled braces stand for themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    text: &'static str,
    params: &'static [Param],
    steps: [PatternPart; MAX_STEPS],
    len: usize,
}

impl Pattern {
    /// Compiles `text`. `tag` is the parameter that gets a hash tag.
    #[allow(clippy::cast_possible_truncation)] // shorter than 256 bytes, which is asserted first
    pub(crate) const fn parse(
        text: &'static str,
        params: &'static [Param],
        tag: Option<&'static str>,
    ) -> Pattern {
        let bytes = text.as_bytes();
        assert!(bytes.len() < 256, "a pattern has at most 255 bytes");
        let mut steps = [PatternPart::Text { from: 0, to: 0 }; MAX_STEPS];
        let mut len = 0;
        let mut at = 0;
        while at < bytes.len() {
            let doubled = at + 1 < bytes.len() && bytes[at + 1] == bytes[at];
            let from = at;
            if is_brace(bytes[at]) && doubled {
                steps[len] = PatternPart::Text { from: at as u8, to: at as u8 + 1 };
                at += 2;
            } else if bytes[at] == b'{' {
                while bytes[at] != b'}' {
                    at += 1;
                }
                let number = find(bytes, from + 1, at, params);
                at += 1;
                let spans = params[number as usize].kind.spans();
                assert!(!spans || at == bytes.len(), "what may hold a colon must be last");
                let tagged = match tag {
                    Some(tag) => same(tag.as_bytes(), params[number as usize].name.as_bytes()),
                    None => false,
                };
                steps[len] =
                    if tagged { PatternPart::Tag(number) } else { PatternPart::Part(number) };
            } else {
                while at < bytes.len() && !is_brace(bytes[at]) {
                    at += 1;
                }
                assert!(at > from, "a closing brace without an opening one");
                steps[len] = PatternPart::Text { from: from as u8, to: at as u8 };
            }
            len += 1;
        }
        Pattern { text, params, steps, len }
    }

    /// As declared, placeholders in braces.
    pub const fn text(&self) -> &'static str {
        self.text
    }

    pub(crate) fn steps(&self) -> &[PatternPart] {
        &self.steps[..self.len]
    }

    pub(crate) fn literal(&self, from: u8, to: u8) -> &'static str {
        &self.text[usize::from(from)..usize::from(to)]
    }

    /// For people: placeholders as `<name>`, so that each brace shown is a real byte.
    pub fn shown(&self) -> String {
        self.steps().iter().fold(String::new(), |mut out, step| {
            match *step {
                PatternPart::Text { from, to } => out.push_str(self.literal(from, to)),
                PatternPart::Part(number) => {
                    out.extend(["<", self.params[usize::from(number)].name, ">"]);
                }
                PatternPart::Tag(number) => {
                    out.extend(["{<", self.params[usize::from(number)].name, ">}"]);
                }
            }
            out
        })
    }

    /// Names of the placeholders that stand in it, in order.
    pub fn placeholders(&self) -> impl Iterator<Item = &'static str> {
        self.steps().iter().filter_map(|step| match *step {
            PatternPart::Part(number) | PatternPart::Tag(number) => {
                Some(self.params[usize::from(number)].name)
            }
            PatternPart::Text { .. } => None,
        })
    }

    /// Bytes that do not depend on a placeholder.
    pub(crate) fn literal_len(&self) -> usize {
        self.steps().iter().map(|step| step.literal_len()).sum()
    }

    /// Parts between colons that hold no placeholder.
    pub(crate) fn literal_segments(&self) -> usize {
        self.shown().split(':').filter(|segment| !segment.contains('<')).count()
    }

    /// The literal with which every key of this pattern starts.
    pub fn prefix(&self) -> String {
        let literals = self.steps().iter().map_while(|step| match *step {
            PatternPart::Text { from, to } => Some(self.literal(from, to)),
            PatternPart::Part(_) | PatternPart::Tag(_) => None,
        });
        literals.collect()
    }

    /// Writes the key. `value` gives the argument of a parameter by its number.
    pub(crate) fn write<'a>(
        &self,
        key: &'static str,
        reserved: &[(&str, &[&str])],
        value: impl Fn(usize) -> Option<Arg<'a>>,
    ) -> Result<Key, BadId> {
        let mut out = String::with_capacity(self.len_with(&value));
        for step in self.steps() {
            let (number, tagged) = match *step {
                PatternPart::Text { from, to } => {
                    out.push_str(self.literal(from, to));
                    continue;
                }
                PatternPart::Part(number) => (usize::from(number), false),
                PatternPart::Tag(number) => (usize::from(number), true),
            };
            let param = self.params[number];
            let refuse = |flaw| BadId { key, field: param.name, flaw };
            let arg = value(number).ok_or_else(|| refuse(Flaw::Missing))?;
            if let Arg::Text(text) = arg {
                param.kind.check(text).map_err(refuse)?;
                if reserved.iter().any(|(name, words)| *name == param.name && words.contains(&text))
                {
                    return Err(refuse(Flaw::Reserved(text.to_owned())));
                }
            }
            let tagged = tagged && !has_tag(arg);
            if tagged {
                out.push('{');
            }
            push(&mut out, arg);
            if tagged {
                out.push('}');
            }
        }
        Ok(Key::trusted(out))
    }

    /// Bytes that are enough for the key, so that it is allocated once.
    fn len_with<'a>(&self, value: impl Fn(usize) -> Option<Arg<'a>>) -> usize {
        let part = |number: u8| value(usize::from(number)).map_or(0, Arg::max_len);
        let steps = self.steps().iter();
        steps
            .map(|step| match *step {
                PatternPart::Text { from, to } => usize::from(to - from),
                PatternPart::Part(number) => part(number),
                PatternPart::Tag(number) => part(number) + 2,
            })
            .sum()
    }

    /// The placeholders' values when `key` has this pattern.
    pub fn values<'k>(
        &self,
        mut key: &'k str,
        layout: Layout,
        namespaces: &[String],
    ) -> Option<Vec<(&'static str, &'k str)>> {
        let mut found = Vec::with_capacity(self.len / 2);
        for step in self.steps() {
            let (number, tagged) = match *step {
                PatternPart::Text { from, to } => {
                    key = key.strip_prefix(self.literal(from, to))?;
                    continue;
                }
                PatternPart::Part(number) => (usize::from(number), false),
                PatternPart::Tag(number) => (usize::from(number), true),
            };
            let param = self.params[number];
            let end =
                if param.kind.spans() { key.len() } else { key.find(':').unwrap_or(key.len()) };
            let (mut value, rest) = key.split_at(end);
            if param.kind == Kind::Namespace {
                value = known_namespace(value, layout, namespaces)?;
            } else {
                if tagged {
                    value = value.strip_prefix('{')?.strip_suffix('}')?;
                }
                param.kind.check(value).ok()?;
            }
            found.push((param.name, value));
            key = rest;
        }
        key.is_empty().then_some(found)
    }
}

/// A namespace as it was configured, from the head of a key.
fn known_namespace<'k>(head: &'k str, layout: Layout, namespaces: &[String]) -> Option<&'k str> {
    let known = |name: &str| namespaces.iter().any(|ns| ns == name);
    if known(head) && (layout == Layout::Plain || head.contains('{')) {
        return Some(head);
    }
    let bare = head.strip_prefix('{')?.strip_suffix('}')?;
    (layout == Layout::Tagged && known(bare)).then_some(bare)
}

impl PatternPart {
    fn literal_len(self) -> usize {
        match self {
            PatternPart::Text { from, to } => usize::from(to - from),
            PatternPart::Part(_) => 0,
            PatternPart::Tag(_) => 2,
        }
    }
}

/// Only a namespace can bring its own hash tag; every other kind refuses braces in a scope.
fn has_tag(arg: Arg<'_>) -> bool {
    matches!(arg, Arg::Text(text) if text.contains('{'))
}

fn push(out: &mut String, arg: Arg<'_>) {
    match arg {
        Arg::Text(text) => out.push_str(text),
        Arg::Uuid(uuid) => {
            out.push_str(uuid.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()));
        }
        Arg::Number(number) => push_number(out, number),
    }
}

fn push_number(out: &mut String, number: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut left = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if number < 0 {
        out.push('-');
    }
    out.extend(digits[at..].iter().map(|&digit| char::from(digit)));
}

const fn is_brace(byte: u8) -> bool {
    byte == b'{' || byte == b'}'
}

/// The number of the parameter whose name is `bytes[from..to]`.
#[allow(clippy::cast_possible_truncation)] // a key has a handful of parameters
const fn find(bytes: &[u8], from: usize, to: usize, params: &[Param]) -> u8 {
    let (_, tail) = bytes.split_at(from);
    let (name, _) = tail.split_at(to - from);
    let mut number = 0;
    while number < params.len() {
        if same(name, params[number].name.as_bytes()) {
            return number as u8;
        }
        number += 1;
    }
    panic!("a placeholder is not among the parameters")
}

/// Whether two names are one word: `tenantId` is `tenant_id`.
const fn same(left: &[u8], right: &[u8]) -> bool {
    let (mut l, mut r) = (0, 0);
    loop {
        while l < left.len() && left[l] == b'_' {
            l += 1;
        }
        while r < right.len() && right[r] == b'_' {
            r += 1;
        }
        if l == left.len() || r == right.len() {
            return l == left.len() && r == right.len();
        }
        if !left[l].eq_ignore_ascii_case(&right[r]) {
            return false;
        }
        l += 1;
        r += 1;
    }
}
