//! Finds each entry of a catalogue file with the line it begins on, so that whatever is wrong with one can be
//! told with file and line.

use serde::Deserialize as _;
use serde_json::value::RawValue;

/// One entry: its text and the line it begins on.
pub(crate) struct Entry<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// A problem and the line it is on.
pub(crate) type Located = (usize, String);

/// The entries of the list `kind` in a file `{"format":1,"<kind>":[…]}`. Further members are refused.
pub(crate) fn entries<'a>(text: &'a str, kind: &str) -> Result<Vec<Entry<'a>>, Located> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = Members::deserialize(&mut reader).map_err(|error| told(&error, 0))?;
    reader.end().map_err(|error| told(&error, 0))?;
    let mut found = None;
    let mut format = false;
    for (name, raw) in members.0 {
        let line = line_of(text, raw.get());
        if name == "$schema" {
            continue; // For editors.
        }
        if name == "format" {
            format = true;
            if raw.get() != "1" {
                return Err((line, "`format` must be 1, the only one there is".into()));
            }
        } else if name == kind {
            found = Some(raw);
        } else {
            return Err((
                line,
                format!("`{name}` is not known here; a file has `format` and `{kind}`"),
            ));
        }
    }
    if !format {
        return Err((1, "`format` is missing: write \"format\": 1".into()));
    }
    let list = found.ok_or_else(|| (1, format!("`{kind}` is missing: the list of templates")))?;
    let first = line_of(text, list.get());
    let items: Vec<&RawValue> =
        serde_json::from_str(list.get()).map_err(|error| told(&error, first - 1))?;
    Ok(items
        .into_iter()
        .map(|raw| Entry { text: raw.get(), line: line_of(text, raw.get()) })
        .collect())
}

/// An entry as its type. A fault names the member it is in, `skills[0].level`, and its line.
pub(crate) fn read<T: serde::de::DeserializeOwned>(entry: &Entry<'_>) -> Result<T, Located> {
    let reader = &mut serde_json::Deserializer::from_str(entry.text);
    serde_path_to_error::deserialize(reader).map_err(|error| {
        let member = error.path().to_string();
        let (line, says) = told(error.inner(), entry.line - 1);
        // An unknown or missing member is named by the sentence itself.
        let named = member == "." || says.starts_with("unknown field");
        (line, if named { says } else { format!("`{member}`: {says}") })
    })
}

/// A parser's error, with its line counted from `before` lines above.
pub(crate) fn told(error: &serde_json::Error, before: usize) -> Located {
    let text = error.to_string();
    let said = text.rsplit_once(" at line ").map_or(text.as_str(), |(said, _)| said);
    (before + error.line().max(1), said.to_owned())
}

/// The line on which `part`, a slice of `text`, begins.
fn line_of(text: &str, part: &str) -> usize {
    let at = part.as_ptr() as usize - text.as_ptr() as usize;
    1 + text[..at].matches('\n').count()
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> serde::de::Visitor<'de> for V {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object with `format` and a list of templates")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(V).map(Members)
    }
}
