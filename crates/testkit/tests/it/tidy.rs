//! Small rules that every source file keeps: a header that says what it owns, comments that begin
//! with their subject, and no path of one machine.

use std::path::{Path, PathBuf};

use testkit::picture::workspace;

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder can be read").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                rust_files(&path, found);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(String, String)> {
    let root = workspace();
    let mut files = Vec::new();
    rust_files(&root.join("crates"), &mut files);
    for extra in ["examples", "xtask"] {
        if root.join(extra).is_dir() {
            rust_files(&root.join(extra), &mut files);
        }
    }
    assert!(files.len() > 10, "the walk found the sources");
    files
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a source is UTF-8");
            let name = path.strip_prefix(&root).expect("under the root").display().to_string();
            (name, text)
        })
        .collect()
}

#[test]
fn every_file_opens_with_what_it_owns() {
    let bare: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//!"))
        .map(|(name, _)| name)
        .collect();
    assert!(bare.is_empty(), "no `//!` header in: {}", bare.join(", "));
}

#[test]
fn a_module_with_a_folder_stands_beside_it() {
    let inside: Vec<String> = sources()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.contains("/src/") && name.ends_with("/mod.rs"))
        .collect();
    assert!(inside.is_empty(), "`name.rs` beside `name/`, not: {}", inside.join(", "));
}

#[test]
fn every_module_has_the_same_shape() {
    for module in ["reactors", "monsters", "galaxy", "rooms", "jobs"] {
        let src = workspace().join("crates").join(module).join("src");
        for part in ["lib", "keys", "model", "error", "events", "scripts", "store"] {
            assert!(src.join(format!("{part}.rs")).is_file(), "{module} has no src/{part}.rs");
        }
        let entries = std::fs::read_dir(&src).expect("a folder can be read");
        let names = entries.map(|entry| entry.expect("an entry can be read").path());
        let files = names.filter(|path| path.is_file()).count();
        assert!(files <= 16, "{module} has {files} files in src/: put them into its folders");
    }
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    // Spelled in two halves, so that this file passes its own rule.
    let private = [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];
    let named: Vec<String> = sources()
        .into_iter()
        .filter(|(_, text)| private.iter().any(|path| text.contains(path)))
        .map(|(name, _)| name)
        .collect();
    assert!(named.is_empty(), "a path of one machine in: {}", named.join(", "));
}

/// Files whose doc comments are data: they become `docs/keyspace.md` and the help texts.
const DOCS_AS_DATA: &[&str] =
    &["/src/keys.rs", "kernel/src/keyspace/own.rs", "worldkeep/src/cli.rs", "worldkeep/src/cli/"];

/// Openings that put off the subject of a sentence, or borrow it from the sentence before.
const RIDDLES: &[&str] =
    &["What", "Who", "Its", "So many", "So much", "So long", "Those", "That", "They", "Where"];

fn is_riddle(line: &str) -> bool {
    let line = line.trim_start();
    let marks = ["/// ", "//! ", "// "];
    let Some(text) = marks.iter().find_map(|mark| line.strip_prefix(mark)) else { return false };
    RIDDLES
        .iter()
        .filter_map(|opening| text.strip_prefix(opening))
        .any(|rest| !rest.starts_with(char::is_alphanumeric))
}

#[test]
fn comments_begin_with_their_subject() {
    assert!(is_riddle("    /// What lies there.") && !is_riddle("/// Whatever lies there."));
    let mut read = 0;
    let mut riddles = Vec::new();
    for (name, text) in sources() {
        if !name.contains("/src/") || DOCS_AS_DATA.iter().any(|part| name.contains(part)) {
            continue;
        }
        read += 1;
        let lines = text.lines().enumerate().filter(|(_, line)| is_riddle(line));
        riddles.extend(lines.map(|(at, line)| format!("{name}:{}: {}", at + 1, line.trim())));
    }
    assert!(read > 100, "the walk found the crates");
    assert!(
        riddles.is_empty(),
        "begin with the subject, such as `The type of a key` for `What lies there`:\n{}",
        riddles.join("\n")
    );
}
