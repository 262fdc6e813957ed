//! The crate picture as data: who may use whom. Arrows point down only, and a test holds every manifest
//! to it, so that a domain never learns about HTTP, another domain, or the kind of store below it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Top to bottom: a crate may only name crates above itself.
pub const MAY_USE: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("engine", &[]),
    ("field", &[]),
    ("link", &["kernel", "engine"]),
    ("reactors", &["kernel", "field"]),
    ("monsters", &["kernel", "field"]),
    ("galaxy", &["kernel"]),
    ("rooms", &["kernel"]),
    ("jobs", &["kernel"]),
    ("server", &["kernel", "field", "reactors", "monsters", "galaxy", "rooms", "jobs"]),
    (
        "worldkeep",
        &["kernel", "link", "field", "reactors", "monsters", "galaxy", "rooms", "jobs", "server"],
    ),
    ("testkit", &["kernel", "engine", "link"]),
    // Outside the product: starts the server as the program that users start, so it does not know that crate. The peer
    // that watches its keys is the one of the tests.
    ("bench", &["kernel", "link", "field", "reactors", "monsters", "galaxy", "jobs", "testkit"]),
];

/// The one crate of ours that any crate may name among its dev-dependencies.
pub const TEST_ONLY: &str = "testkit";

/// The workspace's root, found upwards from the crate under test.
pub fn workspace() -> PathBuf {
    let mut dir = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    while !dir.join("Cargo.lock").exists() {
        assert!(dir.pop(), "no Cargo.lock above {}", env!("CARGO_MANIFEST_DIR"));
    }
    dir
}

/// Every arrow in the manifests under `crates/` that the picture does not draw, one sentence each.
pub fn faults(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let drawn: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    for name in crates(root) {
        let Some(&allowed) = drawn.get(name.as_str()) else {
            faults.push(format!("crates/{name} is not in the picture: add it to MAY_USE"));
            continue;
        };
        let manifest = manifest(&root.join("crates").join(&name));
        for (section, used) in dependencies(&manifest) {
            if !drawn.contains_key(used.as_str()) {
                continue;
            }
            let fine = allowed.contains(&used.as_str())
                || (section == "dev-dependencies" && used == TEST_ONLY);
            if !fine {
                faults.push(format!("crates/{name} may not use {used} in [{section}]"));
            }
        }
    }
    faults
}

/// Folder names under `crates/`, sorted.
pub fn crates(root: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root.join("crates"))
        .expect("the workspace has crates/")
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The manifest in a folder.
pub(crate) fn manifest(folder: &Path) -> toml::Table {
    let text =
        std::fs::read_to_string(folder.join("Cargo.toml")).expect("the folder has a manifest");
    text.parse().expect("a manifest is TOML")
}

/// Section and name of every dependency that a manifest declares.
pub(crate) fn dependencies(manifest: &toml::Table) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut collect = |table: &toml::Table| {
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for name in table.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
                found.push((section.to_owned(), name.0.clone()));
            }
        }
    };
    collect(manifest);
    for target in manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
        if let Some(table) = target.1.as_table() {
            collect(table);
        }
    }
    found
}
