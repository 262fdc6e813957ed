//! The verbs of monsters, on a running server and on a store.

use serde_json::Value;

use crate::support::{Served, command, output, run, serve, told};

/// Runs a verb against the server: exit code, stdout, stderr.
fn at(served: &Served, args: &[&str]) -> (i32, String, String) {
    let url = served.url();
    let mut all = vec!["monsters"];
    all.extend(args);
    all.extend(["--server", &url]);
    told(&output(&mut command(&served.dir, &all)))
}

fn json(answer: (i32, String, String)) -> Value {
    let (code, out, err) = answer;
    assert_eq!(code, 0, "{err}");
    serde_json::from_str(&out).unwrap_or_else(|_| panic!("no JSON: {out}"))
}

#[test]
fn a_monster_from_its_spawn_to_its_end() {
    let served = serve(&["--no-demo"]);
    let (code, _, err) = at(&served, &["ls"]);
    assert_eq!((code, err.trim()), (0, "no monster lives there"));
    let (code, out, err) = at(&served, &["spawn", "9300018", "--at=-5,253"]);
    assert_eq!((code, out.trim()), (0, "monster 1000000000 lives there"), "{err}");
    let (_, out, _) = at(&served, &["damage", "1000000000", "30", "12", "--character", "7"]);
    assert_eq!(out.trim(), "monster 1000000000 has 58 hp left");
    let (_, out, _) = at(&served, &["show", "1000000000"]);
    assert!(out.contains("42 by 7") && out.contains("-5"), "{out}");
    let listed = json(at(&served, &["ls", "--json", "--template", "9300018"]));
    assert_eq!(listed["meta"]["total"], 1);
    let blow = json(at(&served, &["damage", "1000000000", "99", "--json"]));
    assert_eq!(blow["data"]["attributes"]["killed"], true);
    let (code, _, err) = at(&served, &["show", "1000000000"]);
    assert_eq!((code, err.contains("monster not found")), (3, true), "{err}");
    at(&served, &["spawn", "9300018"]);
    let (_, out, _) = at(&served, &["destroy", "1000000000"]);
    assert_eq!(out.trim(), "monster 1000000000 is destroyed");
    at(&served, &["spawn", "9400001", "--field", "1:2:3"]);
    json(at(&served, &["destroy", "--all", "--field", "1:2:3", "--yes", "--json"]));
    at(&served, &["spawn", "9300018"]);
    let gone = json(at(&served, &["teardown", "--yes", "--json"]));
    assert_eq!(gone["data"]["attributes"]["destroyed"], 1);
    for (args, code) in [
        (&["spawn", "1"][..], 2),
        (&["spawn", "9300018", "--at", "1"], 2),
        (&["damage", "1000000000"], 2),
        (&["ls", "--field", "256:0:0"], 2),
        (&["ls", "--tenant", "*"], 2),
    ] {
        assert_eq!(at(&served, args).0, code, "{args:?}");
    }
}

#[test]
fn monster_templates_need_no_server_and_faults_have_their_line() {
    let (code, out, _) = told(&run(&["monsters", "templates"]));
    assert!(code == 0 && out.contains("9300018") && out.contains("Training Dummy"), "{out}");
    let all: Value =
        serde_json::from_str(&told(&run(&["monsters", "templates", "--json"])).1).unwrap();
    assert!(all.as_array().unwrap().iter().any(|one| one["id"] == 9_300_018));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.json");
    std::fs::write(&file, "{\"format\":1,\n\"monsters\":[\n{\"id\":1,\"name\":\"a\"}]}").unwrap();
    let path = file.display().to_string();
    let (code, _, err) = told(&run(&["monsters", "templates", "--catalogue", &path]));
    assert!(code == 1 && err.contains("mine.json:3: missing field `hp`"), "{err}");
}

#[test]
fn files_of_templates_are_checked_and_have_a_schema() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let good = write("good.json", "{\"format\":1,\"skills\":[{\"id\":100,\"level\":1}]}");
    let bad = write(
        "bad.json",
        "{\"$schema\":\"x\",\"format\":1,\"monsters\":[\n{\"id\":1,\"name\":\"a\",\"hp\":1,\n\"skills\":[{\"id\":100,\"level\":\"one\"}]}]}",
    );
    let (code, out, err) = told(&run(&["monsters", "templates", "check", &good]));
    assert!(code == 0 && out.contains("1 skills, nothing is wrong"), "{out} {err}");
    let (code, out, err) = told(&run(&["monsters", "templates", "check", &good, &bad]));
    assert!(code == 1 && out.contains("good.json"), "{out}");
    assert!(err.contains("bad.json:3: `skills[0].level`: invalid type: string"), "{err}");
    for (module, lists) in [("monsters", &["monsters", "skills"][..]), ("reactors", &["reactors"])]
    {
        let (code, out, _) = told(&run(&[module, "templates", "schema"]));
        let schema: Value = serde_json::from_str(&out).unwrap();
        assert!(code == 0 && schema["additionalProperties"] == false, "{out}");
        for list in lists {
            assert_eq!(schema["properties"][list]["type"], "array", "{out}");
        }
        kept(&format!("{module}.schema.json"), &out);
    }
}

/// The schema in `docs/` is what the program prints.
fn kept(name: &str, text: &str) {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    let now = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(now == text, "docs/{name} is not up to date: run this test with UPDATE_EXPECT=1");
}
