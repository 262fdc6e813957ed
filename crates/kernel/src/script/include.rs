//! Puts the parts of a script in place. A part comes once into a script, at its first mention. A part that is
//! included inside a function is made only when that function runs, which keeps what is rare out of the price of
//! every call.

use std::collections::BTreeSet;

use super::Part;

/// The parts that every script may name.
const PARTS: &[Part] = &[("append_to", include_str!("../../scripts/includes/append_to.lua"))];

/// The text with its parts in place.
pub(super) fn expand(text: &str, parts: &[Part]) -> String {
    place(text, parts, &mut BTreeSet::new())
}

/// The same; `seen` are the parts that are known to the text already.
fn place(text: &str, parts: &[Part], seen: &mut BTreeSet<String>) -> String {
    let mut whole = String::new();
    // Blocks that are open around a line: how far each is indented, and the parts that are known inside.
    let mut blocks: Vec<(usize, BTreeSet<String>)> = Vec::new();
    for line in text.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        while !code.is_empty() && blocks.last().is_some_and(|(open, _)| *open > indent) {
            blocks.pop();
        }
        let name = code.strip_prefix("--- @include \"").and_then(|rest| rest.strip_suffix('"'));
        let Some(name) = name else {
            whole.push_str(line);
            whole.push('\n');
            continue;
        };
        if indent > blocks.last().map_or(0, |(open, _)| *open) {
            let outside = blocks.last().map_or(&*seen, |(_, known)| known).clone();
            blocks.push((indent, outside));
        }
        let known = blocks.last_mut().map_or(&mut *seen, |(_, known)| known);
        if known.insert(name.to_owned()) {
            let part = parts.iter().chain(PARTS).find(|(known, _)| *known == name);
            let (_, part) = part.unwrap_or_else(|| panic!("no part of a script is called {name}"));
            whole.push_str(&place(part, parts, known));
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_comes_once_and_inside_a_function_only_there() {
        let parts: &[Part] = &[("a", "local a\n"), ("b", "--- @include \"a\"\nlocal b\n")];
        let text =
            "do\n  --- @include \"b\"\nend\n--- @include \"a\"\n--- @include \"b\"\nreturn a\n";
        assert_eq!(expand(text, parts), "do\nlocal a\nlocal b\nend\nlocal a\nlocal b\nreturn a\n");
    }
}
