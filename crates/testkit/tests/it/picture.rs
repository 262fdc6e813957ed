//! Arrows point one way: every manifest is held to `testkit::picture::MAY_USE`, and declares nothing it does not need.

use testkit::{picture, unused};

#[test]
fn every_manifest_follows_the_picture() {
    let faults = picture::faults(&picture::workspace());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_picture_draws_only_crates_that_exist_and_points_up() {
    let exist = picture::crates(&picture::workspace());
    for (at, (name, uses)) in picture::MAY_USE.iter().enumerate() {
        assert!(exist.iter().any(|found| found == name), "{name} is drawn but does not exist");
        for used in *uses {
            let above = picture::MAY_USE[..at].iter().any(|(earlier, _)| earlier == used);
            assert!(above, "{name} uses {used}, which does not stand above it");
        }
    }
}

#[test]
fn plain_cargo_commands_reach_every_crate_but_the_benchmarks() {
    let root = picture::workspace();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the root's manifest");
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let members = manifest["workspace"]["default-members"].as_array().expect("a list");
    let members: Vec<&str> = members.iter().filter_map(toml::Value::as_str).collect();
    let crates = picture::crates(&root);
    let expected = crates.iter().filter(|name| *name != "bench");
    let expected: Vec<String> = expected.map(|name| format!("crates/{name}")).collect();
    assert_eq!(members, expected, "default-members of the root's manifest");
    let has_binary = |folder: &&&str| root.join(folder).join("src/main.rs").exists();
    let binaries: Vec<_> = members.iter().filter(has_binary).collect();
    assert_eq!(binaries, [&"crates/worldkeep"], "`cargo run` has one program to run");
}

#[test]
fn a_wrong_arrow_is_found() {
    let dir = tempfile::tempdir().expect("scratch");
    let folder = dir.path().join("crates/rooms");
    std::fs::create_dir_all(&folder).expect("folder");
    let manifest = "[dependencies]\njobs.workspace = true\nserde = \"1\"\n\
                    [dev-dependencies]\ntestkit.workspace = true\nlink.workspace = true\n";
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("manifest");
    let found = picture::faults(dir.path());
    assert_eq!(
        found,
        [
            "crates/rooms may not use jobs in [dependencies]",
            "crates/rooms may not use link in [dev-dependencies]"
        ]
    );
}

#[test]
fn every_dependency_is_named_where_it_is_declared() {
    let faults = unused::unused(&picture::workspace());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_shared_dependency_is_taken_by_a_crate() {
    let free = unused::untaken(&picture::workspace());
    assert!(free.is_empty(), "no crate takes {} of the root's manifest", free.join(", "));
}

#[test]
fn a_dependency_too_many_is_found() {
    let dir = tempfile::tempdir().expect("scratch");
    let write = |name: &str, text: &str| {
        let path = dir.path().join("crates/rooms").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        std::fs::write(path, text).expect("file");
    };
    let manifest = "[dependencies]\nserde = \"1\"\nserde-json = \"1\"\nuuid = \"1\"\ntoml = \"1\"\n\
                    [dev-dependencies]\nrand = \"1\"\nhttp = \"1\"\n";
    write("Cargo.toml", manifest);
    let source = "// uuid::Uuid was here\nuse serde_json::Value;\n#[cfg(test)]\nmod tests { use toml::Table; }\n";
    write("src/lib.rs", source);
    write("tests/it/main.rs", "use rand as dice;\nfn f() { my_http::get() }\n");
    assert_eq!(
        unused::unused(dir.path()),
        [
            "crates/rooms does not name serde of [dependencies]",
            "crates/rooms does not name toml of [dependencies], only its tests do",
            "crates/rooms does not name uuid of [dependencies]",
            "crates/rooms does not name http of [dev-dependencies]"
        ]
    );
}
