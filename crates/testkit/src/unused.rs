//! Dependencies that a crate declares and does not need: never named in its sources, or a normal one that only tests
//! name. The search is for text, so a module of the same name can hide one; it never accuses a crate that is named.

use std::path::{Path, PathBuf};

use crate::picture::{crates, dependencies, manifest};

/// Folders of a crate that only its developers build.
const DEVELOPERS: &[&str] = &["tests", "benches", "examples"];

/// Every dependency in the manifests under `crates/` that is one too many, one sentence each.
pub fn unused(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    for name in crates(root) {
        let folder = root.join("crates").join(&name);
        let manifest = manifest(&folder);
        let product = product(&folder);
        let build = read(&folder.join("build.rs"));
        let all = everything(&folder, &manifest);
        for (section, dependency) in dependencies(&manifest) {
            let searched = match section.as_str() {
                "dependencies" => &product,
                "build-dependencies" => &build,
                _ => &all,
            };
            if !names(searched, &dependency) {
                let elsewhere = names(&all, &dependency);
                let hint = if elsewhere { ", only its tests do" } else { "" };
                faults
                    .push(format!("crates/{name} does not name {dependency} of [{section}]{hint}"));
            }
        }
    }
    faults
}

/// Dependencies of the root's manifest that no crate takes.
pub fn untaken(root: &Path) -> Vec<String> {
    let offered = manifest(root);
    let offered = offered["workspace"]["dependencies"].as_table().expect("a table");
    let folders = crates(root).into_iter().map(|name| root.join("crates").join(name));
    let taken: Vec<_> = folders.flat_map(|folder| dependencies(&manifest(&folder))).collect();
    let free = offered.keys().filter(|offer| taken.iter().all(|(_, name)| name != *offer));
    free.cloned().collect()
}

/// Sources of the crate itself, without tests: `mod tests { … }` at a file's end, and files called `tests…`.
fn product(folder: &Path) -> String {
    let mut text = String::new();
    for path in rust_files(&folder.join("src")) {
        if path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("tests")) {
            continue;
        }
        let file = read(&path);
        let end = file.find("mod tests {").unwrap_or(file.len());
        text.push_str(&file[..end]);
    }
    text
}

/// Sources of the crate with everything that only developers build, also where a target says another path.
fn everything(folder: &Path, manifest: &toml::Table) -> String {
    let folders = DEVELOPERS.iter().chain(&["src"]);
    let mut files: Vec<PathBuf> = folders.flat_map(|sub| rust_files(&folder.join(sub))).collect();
    for kind in ["bin", "example", "test", "bench"] {
        let targets = manifest.get(kind).and_then(toml::Value::as_array).into_iter().flatten();
        let paths = targets.filter_map(|target| target.get("path")?.as_str());
        files.extend(paths.map(|path| folder.join(path)));
    }
    files.iter().map(|path| read(path)).collect()
}

/// Whether code begins a path with the dependency: `name::`, or brings it in by `use name` or `extern crate name`.
fn names(text: &str, dependency: &str) -> bool {
    let name = dependency.replace('-', "_");
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.match_indices(&name).map(move |found| (line, found.0))).any(
        |(line, at)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            // `crate::name::` and `other::name::` are somebody else's.
            let before_path = before.strip_suffix("::").unwrap_or(before);
            let starts = !before_path.ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let brought = before.ends_with("use ") || before.ends_with("extern crate ");
            let ends = after.starts_with("::") || (brought && after.starts_with([' ', ';']));
            starts && ends
        },
    )
}

/// Every Rust file below a folder; none when there is no such folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let paths = entries.map(|entry| entry.path());
    let files = paths.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|ext| ext == "rs")).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
