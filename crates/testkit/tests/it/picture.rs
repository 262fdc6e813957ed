//! Arrows point one way: every manifest is held to `testkit::picture::MAY_USE`.

use testkit::picture;

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
