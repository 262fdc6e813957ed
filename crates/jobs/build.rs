//! Puts the scripts together: `--- @include "close_job"` in a Lua file stands for `scripts/includes/close_job.lua`.
//! A part comes once into a script, at its first mention. A part that is included inside a function is made only when
//! that function runs, which keeps what is rare out of the price of every call.

use std::collections::BTreeSet;
use std::path::Path;
use std::{env, fs};

#[allow(clippy::print_stdout)] // Cargo listens there
fn main() {
    println!("cargo::rerun-if-changed=scripts");
    let out = env::var_os("OUT_DIR").expect("cargo names a folder");
    for file in fs::read_dir("scripts").expect("the scripts are there").flatten() {
        let path = file.path();
        if path.extension().is_some_and(|end| end == "lua") {
            let text = expand(&read(&path), &mut BTreeSet::new());
            fs::write(Path::new(&out).join(file.file_name()), text).expect("it can be written");
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text with its parts in place; `seen` are those that are known to it already.
fn expand(text: &str, seen: &mut BTreeSet<String>) -> String {
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
            let part = read(&Path::new("scripts/includes").join(name).with_extension("lua"));
            whole.push_str(&expand(&part, known));
        }
    }
    whole
}
