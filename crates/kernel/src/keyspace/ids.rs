//! Values that may stand in a key. Each placeholder has a [`Kind`]; a builder refuses a value that
//! would break its key (or match another one) and names the field. The specs' narrower rules are
//! checked at the edge.

use std::collections::HashSet;
use std::fmt;

use uuid::Uuid;

use super::Layout;

/// The kind of values that a placeholder takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Lower-case hyphenated UUID, 36 characters.
    Uuid,
    /// Decimal 0 to 255.
    U8,
    /// Decimal 0 to 4294967295.
    U32,
    /// Decimal -32768 to 32767.
    I16,
    /// A room's code: 4 to 12 of `A-Z 0-9`.
    Code,
    /// 1 to 64 of `A-Z a-z 0-9 _ -`.
    Word,
    /// 1 to 128 bytes of any text without what breaks a key.
    Name,
    /// 1 to 128 of `A-Z a-z 0-9 . _ -`: servers, workers, instances.
    Host,
    /// A job namespace: 1 to 64 of `A-Z a-z 0-9 . _ -`, which may carry its own hash tag.
    Namespace,
    /// 1 to 256 of `A-Z a-z 0-9 . _ ~ - :`; last in its key. (An edge takes 128: cron adds to it.)
    JobId,
    /// 1 to 200 bytes without control characters; last in its key, since foreign producers choose it.
    JobType,
    /// `yyyymmdd`.
    Day,
    /// 64 lower-case hexadecimal digits.
    Sha256,
    /// 1 to 128 of `A-Z a-z 0-9 . _ - :`; last in its key.
    Path,
}

/// Heads of the other tables' keys: a job namespace of that name would mix with them.
pub(crate) const TAKEN_HEADS: &[&str] = &[
    "wk",
    "room",
    "reactor",
    "reactors",
    "atlas",
    "ship",
    "station",
    "body",
    "jumpgate",
    "game",
    "maneuver",
    "automation",
    "connections",
    "player",
    "system",
    "galaxy",
];

/// Why a value cannot stand in a key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// Nothing at all.
    Empty,
    /// More bytes than the number given.
    TooLong(usize),
    /// A character that would break the key or a pattern.
    Character(char),
    /// A word that is the literal part of a neighbouring key.
    Reserved(String),
    /// Not of the shape its kind asks for.
    Shape(&'static str),
    /// Not given at all.
    Missing,
    /// Given before, perhaps with its hash tag spelled out.
    Twice(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Empty => f.write_str("is empty"),
            Flaw::TooLong(max) => write!(f, "is longer than {max} bytes"),
            Flaw::Character(c) => write!(f, "holds {c:?}, which it must not"),
            Flaw::Reserved(word) => write!(f, "is {word:?}, which is reserved: choose another"),
            Flaw::Shape(rule) => write!(f, "must be {rule}"),
            Flaw::Missing => f.write_str("is missing"),
            Flaw::Twice(name) => write!(f, "is {name:?}, which spells the keys of another one"),
        }
    }
}

/// An id that must not become part of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {flaw} (key {key})")]
pub struct BadId {
    /// The key that was asked for, such as `claims`.
    pub key: &'static str,
    /// The placeholder, such as `code`.
    pub field: &'static str,
    /// The flaw of the value.
    pub flaw: Flaw,
}

/// A value for a placeholder. Made by the builders from what their parameters take.
#[derive(Debug, Clone, Copy)]
pub enum Arg<'a> {
    /// Text, checked by the placeholder's kind.
    Text(&'a str),
    /// A number, which cannot break a key.
    Number(i64),
    /// A UUID, which cannot break a key.
    Uuid(Uuid),
}

impl Arg<'_> {
    /// The most bytes it can take in a key.
    pub(crate) fn max_len(self) -> usize {
        match self {
            Arg::Text(text) => text.len(),
            Arg::Number(_) => 20,
            Arg::Uuid(_) => 36,
        }
    }
}

impl<'a> From<&'a str> for Arg<'a> {
    fn from(text: &'a str) -> Self {
        Arg::Text(text)
    }
}

impl From<Uuid> for Arg<'_> {
    fn from(uuid: Uuid) -> Self {
        Arg::Uuid(uuid)
    }
}

macro_rules! number {
    ($($type:ty),+) => {$(
        impl From<$type> for Arg<'_> {
            fn from(number: $type) -> Self {
                Arg::Number(i64::from(number))
            }
        }
    )+};
}
number!(u8, u32, i16);

impl Kind {
    /// Whether a value may hold `:`; such a placeholder is the last of its pattern.
    pub const fn spans(self) -> bool {
        matches!(self, Kind::JobId | Kind::JobType | Kind::Path)
    }

    /// The rule in words, for documents and errors.
    pub const fn rule(self) -> &'static str {
        match self {
            Kind::Uuid => "a lower-case hyphenated UUID",
            Kind::U8 => "a whole number from 0 to 255",
            Kind::U32 => "a whole number from 0 to 4294967295",
            Kind::I16 => "a whole number from -32768 to 32767",
            Kind::Code => "4 to 12 of A-Z and 0-9",
            Kind::Word => "1 to 64 of A-Z, a-z, 0-9, _ and -",
            Kind::Name => "1 to 128 bytes without : { } * ? [ ] and control characters",
            Kind::Host => "1 to 128 of A-Z, a-z, 0-9, ., _ and -",
            Kind::Namespace => {
                "1 to 64 of A-Z, a-z, 0-9, ., _ and -, at most one part of it in braces"
            }
            Kind::JobId => "1 to 256 of A-Z, a-z, 0-9, ., _, ~, - and :",
            Kind::JobType => "1 to 200 bytes without control characters",
            Kind::Day => "a day as yyyymmdd",
            Kind::Sha256 => "64 lower-case hexadecimal digits",
            Kind::Path => "1 to 128 of A-Z, a-z, 0-9, ., _, - and :",
        }
    }

    /// Whether `text` may stand in a key here.
    pub fn check(self, text: &str) -> Result<(), Flaw> {
        if text.is_empty() {
            return Err(Flaw::Empty);
        }
        let plain = |c: char| c.is_ascii_alphanumeric();
        match self {
            Kind::Uuid => shape(is_uuid(text), self),
            Kind::U8 => shape(is_number::<u8>(text), self),
            Kind::U32 => shape(is_number::<u32>(text), self),
            Kind::I16 => shape(is_number::<i16>(text), self),
            Kind::Code => {
                only(text, 12, |c| c.is_ascii_uppercase() || c.is_ascii_digit())?;
                shape(text.len() >= 4, self)
            }
            Kind::Word => only(text, 64, |c| plain(c) || "_-".contains(c)),
            Kind::Name => only(text, 128, |c| !c.is_control() && !":{}*?[]".contains(c)),
            Kind::Host => only(text, 128, |c| plain(c) || "._-".contains(c)),
            Kind::Namespace => namespace(text),
            Kind::JobId => only(text, 256, |c| plain(c) || "._~-:".contains(c)),
            Kind::JobType => only(text, 200, |c| !c.is_control()),
            Kind::Day => shape(text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit()), self),
            Kind::Sha256 => shape(
                text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')),
                self,
            ),
            Kind::Path => only(text, 128, |c| plain(c) || "._-:".contains(c)),
        }
    }
}

fn shape(right: bool, kind: Kind) -> Result<(), Flaw> {
    if right { Ok(()) } else { Err(Flaw::Shape(kind.rule())) }
}

fn only(text: &str, max: usize, allowed: impl Fn(char) -> bool) -> Result<(), Flaw> {
    if text.len() > max {
        return Err(Flaw::TooLong(max));
    }
    match text.chars().find(|&c| !allowed(c)) {
        Some(c) => Err(Flaw::Character(c)),
        None => Ok(()),
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// Whether `text` is the one way we spell a number: no plus sign, no leading zero, no `-0`.
fn is_number<T: std::str::FromStr + ToString>(text: &str) -> bool {
    text.parse::<T>().is_ok_and(|number| number.to_string() == text)
}

/// A namespace given with braces keeps them in either layout, so they must be one proper hash tag.
fn namespace(text: &str) -> Result<(), Flaw> {
    only(text, 64, |c| c.is_ascii_alphanumeric() || "._-{}".contains(c))?;
    let bare = match (text.find('{'), text.find('}')) {
        (None, None) => text.to_owned(),
        (Some(open), Some(close)) if open + 1 < close => {
            let bare = format!("{}{}{}", &text[..open], &text[open + 1..close], &text[close + 1..]);
            shape(!bare.contains(['{', '}']), Kind::Namespace)?;
            bare
        }
        _ => return Err(Flaw::Shape(Kind::Namespace.rule())),
    };
    if TAKEN_HEADS.contains(&bare.as_str()) { Err(Flaw::Reserved(bare)) } else { Ok(()) }
}

/// Whether these job namespaces can be served together: each is sound, and no two spell the same keys.
pub fn check_namespaces(namespaces: &[impl AsRef<str>], layout: Layout) -> Result<(), BadId> {
    let refuse = |flaw| BadId { key: "namespaces", field: "namespace", flaw };
    let mut heads = HashSet::new();
    for name in namespaces.iter().map(AsRef::as_ref) {
        namespace(name).map_err(refuse)?;
        let head = match layout {
            Layout::Tagged if !name.contains('{') => format!("{{{name}}}"),
            _ => name.to_owned(),
        };
        if !heads.insert(head) {
            return Err(refuse(Flaw::Twice(name.to_owned())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 14] = [
        Kind::Uuid,
        Kind::U8,
        Kind::U32,
        Kind::I16,
        Kind::Code,
        Kind::Word,
        Kind::Name,
        Kind::Host,
        Kind::Namespace,
        Kind::JobId,
        Kind::JobType,
        Kind::Day,
        Kind::Sha256,
        Kind::Path,
    ];

    #[test]
    fn nothing_that_breaks_a_key_passes() {
        for kind in KINDS {
            for text in ["", "a\nb", "\0", "\u{7f}", "\u{85}"] {
                assert!(kind.check(text).is_err(), "{kind:?} took {text:?}");
            }
            if kind != Kind::JobType {
                for text in ["a*b", "a?b", "a[b", "a]b", "{", "}", "}{", "{}", "a{b}{c}", "{{a}}"] {
                    assert!(kind.check(text).is_err(), "{kind:?} took {text:?}");
                }
            }
            if !kind.spans() {
                assert!(kind.check("a:b").is_err(), "{kind:?} took a colon");
            }
            assert!(kind.check(&"7".repeat(257)).is_err(), "{kind:?} took 257 bytes");
        }
    }

    #[test]
    fn numbers_have_one_spelling() {
        for text in ["+1", "01", "-0", "256", " 1", "1.0", "1e2"] {
            assert!(Kind::U8.check(text).is_err(), "{text}");
        }
        assert_eq!(Kind::I16.check("-32768"), Ok(()));
        assert_eq!(Kind::U32.check("4294967295"), Ok(()));
    }

    #[test]
    fn uuids_are_lower_case_and_hyphenated() {
        let right = "11111111-1111-4111-8111-11111111111a";
        assert_eq!(Kind::Uuid.check(right), Ok(()));
        assert!(Kind::Uuid.check(&right.to_uppercase()).is_err());
        assert!(Kind::Uuid.check(&right.replace('-', "")).is_err());
        assert!(Kind::Uuid.check("rules").is_err());
    }

    #[test]
    fn namespaces_keep_one_hash_tag_and_no_foreign_head() {
        for text in ["bridge", "{bridge}", "eu.{bridge}-1"] {
            assert_eq!(Kind::Namespace.check(text), Ok(()), "{text}");
        }
        for text in ["room", "{room}", "wk", "r{oo}m", "a:b", "{a", "a}"] {
            assert!(Kind::Namespace.check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn two_namespaces_never_spell_the_same_keys() {
        assert_eq!(check_namespaces(&["bridge", "other"], Layout::Tagged), Ok(()));
        assert_eq!(check_namespaces(&["bridge", "{bridge}"], Layout::Plain), Ok(()));
        let told = check_namespaces(&["bridge", "{bridge}"], Layout::Tagged).unwrap_err();
        assert_eq!(
            told.to_string(),
            "namespace is \"{bridge}\", which spells the keys of another one (key namespaces)"
        );
        assert!(check_namespaces(&["a", "a"], Layout::Plain).is_err());
        assert!(check_namespaces(&["room"], Layout::Plain).is_err());
    }
}
