//! What can be wrong, each with its exit code and a sentence that says what to do.

use testkit::{On, Program, Server, Setup};

use crate::support::{command, output, run, serve, told};

#[test]
fn wrong_use_is_a_sentence_with_its_code() {
    for (args, code, says) in [
        (&["serve", "--htp", "x"][..], 2, "--http"),
        (&["srve"], 2, "serve"),
        (&["serve", "--http", "7070"], 2, "127.0.0.1:7070"),
        (&["serve", "--redis", "http://h", "--http", "127.0.0.1:0"], 2, "redis"),
        (&["serve", "--redis", "localhost:6379", "--http", "127.0.0.1:0"], 2, "redis://"),
        (&["serve", "--redis", "redis://h", "--redis-file", "f"], 2, "--redis-file"),
        (&["serve", "--modules", "jobs,toys", "--data", "memory"], 2, "there is no module `toys`"),
        (&["serve", "--layout", "round", "--data", "memory"], 2, "plain, tagged"),
        (&["serve", "--log", "info=what", "--data", "memory"], 2, "level"),
        (&["serve", "--http", "0.0.0.0:0", "--data", "memory"], 2, "WORLDKEEP_ADMIN_TOKEN"),
        (
            &["serve", "--resp", "0.0.0.0:0", "--http", "127.0.0.1:0", "--data", "memory"],
            2,
            "WORLDKEEP_RESP_PASSWORD_FILE",
        ),
        (&["serve", "--redis", "redis://127.0.0.1:1", "--http", "127.0.0.1:0"], 6, "cannot reach"),
        (&["serve", "--config", "nowhere.toml"], 2, "nowhere.toml"),
        (&["keys", "--module", "toys"], 2, "toys"),
        (&["keys", "show", "x", "--server", "ftp://h"], 2, "http://"),
        (&["keys", "show", "x", "--server", "http://127.0.0.1:1"], 6, "start it"),
        (&["token", "rm", "abcdefabcdef", "--data", "memory"], 2, "--yes"),
        (&["token", "rm", "abcdefabcdef", "--data", "memory", "--yes"], 3, "token ls"),
        (&["keys", "show", "nothing", "--data", "memory"], 3, "no such key"),
        (&["check", "--repair", "--data", "memory"], 2, "--yes"),
        (&["jobs", "dispatch", "mail", "--cron", "@daily"], 2, "worldkeep jobs cron add"),
        // Where one of two will do, neither is called required alone.
        (&["jobs", "dispatch"], 2, "TYPE|--file <FILE>"),
        (&["monsters", "destroy"], 2, "ID|--all"),
        (&["reactors", "destroy"], 2, "ID|--all"),
    ] {
        let (given, out, err) = told(&run(args));
        assert_eq!(given, code, "{args:?}: {out}{err}");
        assert!(err.contains(says), "{args:?} should say {says}: {err}");
        assert!(!err.contains("panicked"), "{args:?}: {err}");
        assert!(!out.contains("Dashboard"), "{args:?}: nothing is announced that does not run");
    }
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    for (args, code, word, says) in [
        (&["jobs", "--json", "sow"][..], 2, "usage", "unrecognized subcommand 'sow'"),
        (
            &["keys", "show", "nothing", "--data", "memory", "--json"],
            3,
            "no_such_key",
            "no such key",
        ),
        (&["keys", "--module", "toys", "--json"], 2, "usage", "toys"),
        (&["jobs", "ls", "--server", "http://127.0.0.1:1", "--json"], 6, "unreachable", "start it"),
        (&["jobs", "get", "no-such", "--data", "memory", "--json"], 3, "no_such_job", "no-such"),
    ] {
        let (given, out, err) = told(&run(args));
        assert_eq!((given, &*out), (code, ""), "{args:?}: {err}");
        let error: serde_json::Value = serde_json::from_str(&err)
            .unwrap_or_else(|_| panic!("{args:?} did not print JSON: {err}"));
        let error = &error["error"];
        assert_eq!((&error["code"], &error["exit"]), (&word.into(), &code.into()), "{args:?}");
        assert!(error["message"].as_str().unwrap().contains(says), "{args:?}: {error}");
    }
    assert!(told(&run(&["check", "--help", "--json"])).1.contains("Usage"), "help is no error");
}

#[test]
fn global_flags_have_a_heading_of_their_own() {
    let (code, help, _) = told(&run(&["jobs", "ls", "--help"]));
    let (own, global) = help.split_once("Global options:").unwrap_or_else(|| panic!("{help}"));
    assert_eq!(code, 0);
    assert!(own.contains("--status") && !own.contains("--redis"), "{own}");
    assert!(global.contains("--redis") && global.contains("--json"), "{global}");
    let words = ["seed", "Seed"];
    for verb in ["--help", "acl", "serve", "jobs", "migrate", "keys"] {
        let (_, help, _) = told(&run(&[verb, "--help"]));
        assert!(!words.iter().any(|word| help.contains(word)), "{verb}: {help}");
    }
}

#[test]
fn unknown_settings_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("worldkeep.toml"), "[limits]\nbody_byte = 1\n").unwrap();
    let (code, _, err) = told(&output(&mut command(&dir, &["serve", "--data", "memory"])));
    assert_eq!(code, 2);
    assert!(err.contains("limits.body_byte") && err.contains("limits.body_bytes"), "{err}");
    let dir = tempfile::tempdir().unwrap();
    let output = output(command(&dir, &["config", "show"]).env("WORLDKEEP_HTPP", "x"));
    let (code, _, err) = told(&output);
    assert_eq!(code, 2);
    assert!(err.contains("WORLDKEEP_HTPP") && err.contains("`http`"), "{err}");
}

#[test]
fn weak_admin_token_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(&dir, &["serve", "--data", "memory", "--http", "127.0.0.1:0"]);
    let (code, _, err) = told(&output(command.env("WORLDKEEP_ADMIN_TOKEN", "wk_hunter2")));
    assert_eq!(code, 2, "{err}");
    assert!(!err.contains("hunter2"), "the sentence does not repeat the secret: {err}");
}

#[test]
fn port_in_use_is_told_before_anything_is_opened() {
    let first = serve(&[]);
    let address = first.addr.to_string();
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let (code, _, err) =
        told(&output(&mut command(&dir, &["serve", "--http", &address, "--data", data])));
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("another program listens there"), "{err}");
    assert!(!dir.path().join("data").exists(), "nothing was made");
}

#[test]
fn unwritable_data_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "x").unwrap();
    let data = dir.path().join("file/data");
    let data = data.to_str().unwrap();
    let (code, _, err) =
        told(&output(&mut command(&dir, &["serve", "--http", "127.0.0.1:0", "--data", data])));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("data directory"), "{err}");
}

#[test]
fn bad_token_is_refused_with_five() {
    let served = serve(&[]);
    let token = format!("wk_{}", "x".repeat(43));
    let (code, _, err) = told(&run(&["token", "ls", "--server", &served.url(), "--token", &token]));
    assert_eq!(code, 5, "{err}");
    assert!(!err.contains(&token), "{err}");
}

#[test]
fn wrong_password_of_a_real_redis_is_refused_with_five() {
    if !On::Redis.is_wanted() {
        return;
    }
    let server: Server = Setup::new(Program::Redis).args(["--requirepass", "right"]).start();
    let url = format!("redis://:wrong-secret@127.0.0.1:{}", server.port());
    let (code, _, err) = told(&run(&["serve", "--http", "127.0.0.1:0", "--redis", &url]));
    assert_eq!(code, 5, "{err}");
    assert!(!err.contains("wrong-secret"), "{err}");
}

#[test]
fn plain_keys_on_a_cluster_are_refused_with_the_way_out() {
    if !On::Cluster.is_wanted() {
        return;
    }
    let cluster = testkit::Cluster::lend();
    let url = cluster.url();
    let (code, _, err) = told(&run(&["serve", "--http", "127.0.0.1:0", "--redis", &url]));
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--layout tagged"), "{err}");
    // Galaxy's keys need no tag; the others work when tagged.
    let dir = tempfile::tempdir().unwrap();
    let accounts = dir.path().join("accounts").display().to_string();
    for args in [["--modules", "galaxy"], ["--layout", "tagged"]] {
        let served = serve(&[&["--redis", &url, "--data", &accounts][..], &args[..]].concat());
        assert_eq!(served.get("/readyz").0, 200);
    }
}

#[test]
fn only_the_server_makes_a_store() {
    let verbs: &[&[&str]] = &[
        &["check"],
        &["check", "--repair", "--yes"],
        &["keys", "show", "wk:tokens"],
        &["token", "new", "--name", "ci"],
        &["rooms", "ls"],
        &["jobs", "dispatch", "email"],
        &["monsters", "ls"],
        &["reactors", "ls"],
        &["galaxy", "init", "--yes"],
        &["log", "check"],
        &["log", "repair", "--yes"],
    ];
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    let places: &[(&str, &str)] =
        &[("--data", "./typo"), ("--data", "empty"), ("--redis", "embedded:./typo")];
    for (flag, place) in places {
        for verb in verbs.iter().filter(|verb| *flag == "--data" || verb[0] != "log") {
            let args: Vec<&str> = verb.iter().copied().chain([*flag, *place]).collect();
            let (code, out, err) = told(&output(&mut command(&dir, &args)));
            assert_eq!(code, 2, "{args:?}: {out}{err}");
            assert!(err.contains("there is no store in it"), "{args:?}: {err}");
            assert!(err.contains("worldkeep serve --data"), "{args:?}: {err}");
        }
    }
    assert!(!dir.path().join("typo").exists(), "nothing was made");
    assert_eq!(std::fs::read_dir(dir.path().join("empty")).unwrap().count(), 0);
}
