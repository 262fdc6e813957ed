//! Changes named members of a stored JSON object and leaves every other byte as it was: order, white space,
//! unknown members, duplicates, escapes and the spelling of numbers. `serde_json` validates and gives the
//! spans; the text is spliced, never re-encoded. Names are compared unescaped, and of duplicates the last
//! one counts, as for every reader.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The change of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// It holds this JSON text from now on; appended at the end when it was not there.
    Set(&'a str),
    /// It is gone, every duplicate of it too.
    Remove,
}

/// Why a text was left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The stored text is not one JSON object.
    #[error("not a JSON object: {0}")]
    NotAnObject(String),
    /// The new text of a member is not one JSON value.
    #[error("new value of {name} is not JSON: {detail}")]
    BadValue {
        /// The member.
        name: String,
        /// The parser's complaint about the new text.
        detail: String,
    },
}

/// Changes the named members and keeps the rest byte for byte. On an error nothing was changed.
///
/// ```
/// use worldkeep_kernel::json::{Change, edit};
/// let text = r#"{"hp": 1.50, "tags":[ ]}"#;
/// assert_eq!(edit(text, &[("hp", Change::Set("7"))]).unwrap(), r#"{"hp": 7, "tags":[ ]}"#);
/// ```
pub fn edit(text: &str, changes: &[(&str, Change<'_>)]) -> Result<String, JsonError> {
    let members = members(text)?;
    for (name, change) in changes {
        if let Change::Set(raw) = change {
            serde_json::from_str::<&RawValue>(raw).map_err(|error| JsonError::BadValue {
                name: (*name).to_owned(),
                detail: error.to_string(),
            })?;
        }
    }
    // A name given twice: the last change counts.
    let change_of = |name: &str| changes.iter().rev().find(|(n, _)| *n == name).map(|(_, c)| *c);

    let mut out = String::with_capacity(text.len() + 64);
    let open = text.find('{').expect("a parsed object has an opening brace");
    out.push_str(&text[..=open]);
    let mut from = open + 1;
    let mut kept = false;
    for (index, member) in members.iter().enumerate() {
        let start = offset(text, member.raw);
        let end = start + member.raw.get().len();
        let change = change_of(&member.name);
        if matches!(change, Some(Change::Remove)) {
            from = end;
            continue;
        }
        let mut lead = &text[from..start];
        if !kept {
            // Everything before it was removed: its separating comma goes with them.
            lead = lead.trim_start_matches([' ', '\t', '\n', '\r']);
            lead = match lead.strip_prefix(',') {
                Some(rest) => rest,
                None => &text[from..start],
            };
        }
        out.push_str(lead);
        let last = !members[index + 1..].iter().any(|later| later.name == member.name);
        match change {
            Some(Change::Set(raw)) if last => out.push_str(raw.trim_ascii()),
            _ => out.push_str(member.raw.get()),
        }
        kept = true;
        from = end;
    }
    let close = text.rfind('}').expect("a parsed object has a closing brace");
    let tail = &text[from..close];
    // New members go right behind the last one, so that a trailing line break stays in front of the brace.
    for (index, (name, change)) in changes.iter().enumerate() {
        let Change::Set(raw) = change else { continue };
        let repeated = changes[index + 1..].iter().any(|(later, _)| later == name);
        if repeated || members.iter().any(|member| member.name == *name) {
            continue;
        }
        if kept {
            out.push(',');
        }
        out.push_str(&serde_json::to_string(name).expect("a string is always JSON"));
        out.push(':');
        out.push_str(raw.trim_ascii());
        kept = true;
    }
    out.push_str(tail);
    out.push_str(&text[close..]);
    Ok(out)
}

/// The raw text of one member, the last one of duplicates; `None` also when the text is no JSON object.
pub fn get<'a>(text: &'a str, name: &str) -> Option<&'a RawValue> {
    members(text).ok()?.into_iter().rev().find(|member| member.name == name).map(|m| m.raw)
}

/// All top-level members in their order, duplicates included, names unescaped.
pub fn members(text: &str) -> Result<Vec<Member<'_>>, JsonError> {
    let Members(members) =
        serde_json::from_str(text).map_err(|error| JsonError::NotAnObject(error.to_string()))?;
    Ok(members)
}

/// One member of a stored object.
#[derive(Debug)]
pub struct Member<'a> {
    /// The member's name, unescaped.
    pub name: Cow<'a, str>,
    /// The member's value, exactly as spelled.
    pub raw: &'a RawValue,
}

fn offset(text: &str, part: &RawValue) -> usize {
    part.get().as_ptr() as usize - text.as_ptr() as usize
}

struct Members<'a>(Vec<Member<'a>>);

/// A borrowed name where it holds no escape, an owned one where it does.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Cow<'de, str>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(name))
            }
            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(name.to_owned()))
            }
        }
        deserializer.deserialize_str(V).map(Name)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Vec<Member<'de>>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(16);
                while let Some((Name(name), raw)) = map.next_entry::<Name<'de>, &'de RawValue>()? {
                    members.push(Member { name, raw });
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(V).map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn set(text: &str, name: &str, raw: &str) -> String {
        edit(text, &[(name, Change::Set(raw))]).unwrap()
    }

    fn remove(text: &str, name: &str) -> String {
        edit(text, &[(name, Change::Remove)]).unwrap()
    }

    #[test]
    fn untouched_members_keep_every_byte() {
        let text = "{ \"a\" : 1.50 ,\n\t\"big\":1e400, \"s\":\"\\/\\u0041é\",\"e\":[ ],\"hp\":10, \"o\":{}}\n";
        assert_eq!(set(text, "hp", "9"), text.replace("\"hp\":10", "\"hp\":9"));
        assert_eq!(edit(text, &[]).unwrap(), text);
    }

    #[test]
    fn a_new_member_goes_to_the_end() {
        assert_eq!(set("{}", "hp", "1"), r#"{"hp":1}"#);
        assert_eq!(set("{ }", "hp", "1"), r#"{"hp":1 }"#);
        assert_eq!(set("{\"a\":1\n}", "q\"", "[]"), "{\"a\":1,\"q\\\"\":[]\n}");
    }

    #[test]
    fn removal_takes_its_comma_along() {
        assert_eq!(remove(r#"{"a":1, "b":2, "c":3}"#, "a"), r#"{ "b":2, "c":3}"#);
        assert_eq!(remove(r#"{"a":1, "b":2, "c":3}"#, "b"), r#"{"a":1, "c":3}"#);
        assert_eq!(remove(r#"{"a":1, "b":2, "c":3}"#, "c"), r#"{"a":1, "b":2}"#);
        assert_eq!(remove(r#"{"a":1}"#, "a"), "{}");
        assert_eq!(remove(r#"{"a":1}"#, "zz"), r#"{"a":1}"#);
        let both = [("a", Change::Remove), ("b", Change::Remove)];
        assert_eq!(edit("{\"a\":1 , \"b\":2 , \"c\":3}", &both).unwrap(), "{ \"c\":3}");
    }

    #[test]
    fn removing_all_and_adding_one_leaves_a_valid_object() {
        let changes = [("a", Change::Remove), ("b", Change::Set("2"))];
        assert_eq!(edit(r#"{"a":1}"#, &changes).unwrap(), r#"{"b":2}"#);
    }

    #[test]
    fn of_duplicates_the_last_is_edited_and_all_are_removed() {
        let text = r#"{"hp":1,"x":0,"hp":2}"#;
        assert_eq!(set(text, "hp", "9"), r#"{"hp":1,"x":0,"hp":9}"#);
        assert_eq!(remove(text, "hp"), r#"{"x":0}"#);
        assert_eq!(get(text, "hp").unwrap().get(), "2");
    }

    #[test]
    fn an_escaped_name_is_the_same_name() {
        assert_eq!(set(r#"{"h\u0070":1}"#, "hp", "2"), r#"{"h\u0070":2}"#);
        assert_eq!(get(r#"{"h\u0070":1}"#, "hp").unwrap().get(), "1");
    }

    #[test]
    fn a_nested_or_quoted_name_is_not_touched() {
        let text = r#"{"o":{"hp":1},"s":"\"hp\":3"}"#;
        assert_eq!(set(text, "hp", "2"), r#"{"o":{"hp":1},"s":"\"hp\":3","hp":2}"#);
    }

    #[test]
    fn deep_nesting_passes() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = format!("{{\"a\":{deep},\"hp\":1}}");
        assert_eq!(set(&text, "hp", "2"), format!("{{\"a\":{deep},\"hp\":2}}"));
    }

    #[test]
    fn a_lone_surrogate_in_a_value_is_carried_and_in_a_name_refused() {
        assert_eq!(set(r#"{"s":"\ud800","hp":1}"#, "hp", "2"), r#"{"s":"\ud800","hp":2}"#);
        assert!(edit(r#"{"\ud800":1}"#, &[]).is_err());
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        for text in [
            "",
            "[]",
            "7",
            "null",
            "{} x",
            r#"{"a":01}"#,
            r#"{"a":1,}"#,
            "{\"a\":\"\n\"}",
            "{\"a\":1",
        ] {
            assert!(matches!(edit(text, &[]), Err(JsonError::NotAnObject(_))), "{text:?}");
        }
    }

    #[test]
    fn a_new_value_that_is_not_json_is_refused() {
        for raw in ["", "1,\"x\":2", "01", "}", "tru"] {
            assert!(edit("{}", &[("a", Change::Set(raw))]).is_err(), "{raw:?}");
        }
        assert_eq!(set("{}", "a", " 1\n"), r#"{"a":1}"#);
    }

    #[test]
    fn a_name_changed_twice_takes_the_last_change() {
        let changes = [("a", Change::Set("1")), ("a", Change::Set("2"))];
        assert_eq!(edit("{}", &changes).unwrap(), r#"{"a":2}"#);
        assert_eq!(edit(r#"{"a":0}"#, &changes).unwrap(), r#"{"a":2}"#);
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![Just("hp".to_owned()), Just("q\"\\".to_owned()), "[a-cé]{0,2}"]
    }

    fn raw() -> impl Strategy<Value = String> {
        prop_oneof![
            Just("1.50".to_owned()),
            Just("[ ]".to_owned()),
            Just("{\"hp\":1}".to_owned()),
            Just("\"a,}\\\"\"".to_owned()),
            "-?[1-9][0-9]{0,4}"
        ]
    }

    fn space() -> impl Strategy<Value = String> {
        "[ \n\t]{0,2}"
    }

    proptest! {
        #[test]
        fn editing_then_parsing_equals_the_model(
            stored in prop::collection::vec((name(), raw(), space(), space()), 0..6),
            changes in prop::collection::vec((name(), prop::option::of(raw())), 0..5),
        ) {
            let body: Vec<String> = stored
                .iter()
                .map(|(n, r, a, b)| format!("{a}{}{b}:{a}{r}{b}", serde_json::to_string(n).unwrap()))
                .collect();
            let text = format!(" {{{}}} ", body.join(","));
            let list: Vec<(&str, Change<'_>)> = changes
                .iter()
                .map(|(n, c)| (n.as_str(), c.as_deref().map_or(Change::Remove, Change::Set)))
                .collect();
            let edited = edit(&text, &list).unwrap();

            let mut model: Map<String, Value> = serde_json::from_str(&text).unwrap();
            let mut last: Vec<&(String, Option<String>)> = Vec::new();
            for change in &changes {
                last.retain(|other| other.0 != change.0);
                last.push(change);
            }
            for (n, c) in last {
                match c {
                    Some(r) => { model.insert(n.clone(), serde_json::from_str(r).unwrap()); }
                    None => { model.remove(n); }
                }
            }
            let parsed: Map<String, Value> = serde_json::from_str(&edited).unwrap();
            prop_assert_eq!(parsed, model);
        }
    }
}
