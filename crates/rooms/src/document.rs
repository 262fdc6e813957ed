//! Edits of stored JSON that keep every byte they do not mean to change: members of an object, elements of an
//! array. The new text of a large array is never sent: a [`Splice`] says which bytes become which.

use kernel::json::{self, Change};
use serde_json::value::RawValue;

/// Bytes `from..to` become `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) text: String,
}

/// Sets members of an object; the values are JSON text. What cannot be read gives the reason.
pub(crate) fn set(text: &str, members: &[(&str, String)]) -> Result<String, String> {
    let changes: Vec<(&str, Change<'_>)> =
        members.iter().map(|(name, value)| (*name, Change::Set(value))).collect();
    json::edit(text, &changes).map_err(|error| error.to_string())
}

/// Sets members of one element of an array of objects.
pub(crate) fn set_in(
    text: &str,
    index: usize,
    members: &[(&str, String)],
) -> Result<Splice, String> {
    let elements = elements(text)?;
    let element = elements.get(index).ok_or("no such element")?;
    let from = offset(text, element);
    Ok(Splice { from, to: from + element.get().len(), text: set(element.get(), members)? })
}

/// Adds an element at the end.
pub(crate) fn push(text: &str, element: &str) -> Result<Splice, String> {
    let elements = elements(text)?;
    let (from, text) = match elements.last() {
        Some(last) => (offset(text, last) + last.get().len(), format!(",{element}")),
        None => (text.find('[').ok_or("no array")? + 1, element.to_owned()),
    };
    Ok(Splice { from, to: from, text })
}

/// Removes an element with the comma that separates it.
pub(crate) fn remove(text: &str, index: usize) -> Result<Splice, String> {
    let elements = elements(text)?;
    let element = elements.get(index).ok_or("no such element")?;
    let (start, end) = (offset(text, element), offset(text, element) + element.get().len());
    let (from, to) = match (index.checked_sub(1).map(|n| elements[n]), elements.get(index + 1)) {
        (Some(before), _) => (offset(text, before) + before.get().len(), end),
        (None, Some(after)) => (start, offset(text, after)),
        (None, None) => (start, end),
    };
    Ok(Splice { from, to, text: String::new() })
}

fn elements(text: &str) -> Result<Vec<&RawValue>, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn offset(text: &str, part: &RawValue) -> usize {
    part.get().as_ptr() as usize - text.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(text: &str, splice: &Splice) -> String {
        format!("{}{}{}", &text[..splice.from], splice.text, &text[splice.to..])
    }

    #[test]
    fn unknown_fields_and_white_space_stay_where_they_are() {
        let text = "[ {\"x\":1.50, \"name\" : \"a\"} ,\n{\"name\":\"b\",\"y\":[ ]} ]";
        let new = apply(text, &set_in(text, 1, &[("name", "\"é\"".into())]).unwrap());
        assert_eq!(new, "[ {\"x\":1.50, \"name\" : \"a\"} ,\n{\"name\":\"é\",\"y\":[ ]} ]");
        assert_eq!(set("{\"a\":1,\"z\":2}", &[("a", "3".into())]).unwrap(), "{\"a\":3,\"z\":2}");
    }

    #[test]
    fn elements_come_and_go_with_their_comma() {
        for (text, pushed) in [("[]", "[9]"), ("[ ]", "[9 ]"), ("[1, 2 ]", "[1, 2,9 ]")] {
            assert_eq!(apply(text, &push(text, "9").unwrap()), pushed);
        }
        for (index, left) in [(0, "[2, 3]"), (1, "[1, 3]"), (2, "[1, 2]")] {
            assert_eq!(apply("[1, 2, 3]", &remove("[1, 2, 3]", index).unwrap()), left);
        }
        assert_eq!(apply("[ 1 ]", &remove("[ 1 ]", 0).unwrap()), "[  ]");
        assert!(remove("[1]", 1).is_err() && push("{}", "1").is_err());
    }
}
