//! Every command of the README, in its order, on a fresh directory: what a newcomer types first works. Those of the other
//! documents can at least be read. A command that is added there is tried too.

use std::time::{Duration, Instant};

use clap::Parser as _;

use crate::support::{Served, command, output, serve_env, told};

/// The commands of a page's blocks, each as its words: `worldkeep …` and `cargo run --release …`, which is the same.
fn commands(page: &std::path::Path) -> Vec<Vec<String>> {
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```").skip(1).step_by(2);
    let mut all = Vec::new();
    for line in blocks.flat_map(str::lines) {
        // What stands behind two spaces, or behind `#`, is said about the command; `>` and `|` are the shell's.
        let typed = ["  ", " #", " > ", " | "]
            .into_iter()
            .fold(line, |line, end| line.split_once(end).map_or(line, |(typed, _)| typed));
        if let Some(rest) = typed.strip_prefix("cargo run --release") {
            all.push(words(rest.trim_start_matches(" --")));
        } else if let Some(rest) = typed.strip_prefix("worldkeep")
            && (rest.is_empty() || rest.starts_with(' '))
        {
            all.push(words(rest.trim_end_matches(" &")));
        }
        // Commands that the words about one name.
        let named = line.split('`').skip(1).step_by(2);
        all.extend(named.filter_map(|text| text.strip_prefix("worldkeep ")).map(words));
    }
    all
}

/// As a shell takes them apart: single quotes keep a word together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in text.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Starts what serves, on ports of its own and with `redis` as the Redis that the README names.
fn start(words: &[String], redis: Option<&Served>) -> Served {
    let free = |word: &String| match (word.as_str(), redis) {
        ("redis://127.0.0.1:6379", Some(redis)) => format!("redis://{}", redis.addr),
        ("127.0.0.1:6380", _) => "127.0.0.1:0".to_owned(),
        (word, _) => word.to_owned(),
    };
    let args: Vec<String> = words.iter().map(free).collect();
    let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
    // Guests of a test come from this machine.
    if args.first() == Some(&"party") {
        args.extend(["--address", "127.0.0.2:0", "--data", "memory"]);
    }
    // The engine alone has no HTTP, and is told so by nobody naming a port for it.
    let alone = args.contains(&"--resp");
    serve_env(&args, if alone { &[] } else { &[("WORLDKEEP_HTTP", "127.0.0.1:0")] })
}

/// A fresh server makes its solar system in the first moments.
fn ticks(server: &Served) {
    let end = Instant::now() + Duration::from_mins(1);
    while server.get("/api/keys/game:tick").0 != 200 {
        assert!(Instant::now() < end, "waited a minute for the first tick");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn every_command_of_the_readme_works_in_its_order_on_a_fresh_directory() {
    let all = commands(&testkit::picture::workspace().join("README.md"));
    let serves =
        |words: &[String]| words.first().is_none_or(|verb| verb == "serve" || verb == "party");
    assert!(all.len() > 9 && all[0].is_empty(), "the page begins with the server: {all:?}");
    let mut server = start(&all[0], None);
    ticks(&server);
    for words in all.iter().filter(|words| !serves(words)) {
        let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
        let url = server.url();
        args.extend(["--server", &url]);
        let (code, out, err) = told(&output(&mut command(&server.dir, &args)));
        assert_eq!(code, 0, "worldkeep {}: {out}{err}", words.join(" "));
        assert!(!(out + &err).trim().is_empty(), "worldkeep {} says nothing", words.join(" "));
    }
    server.signal("TERM");
    assert_eq!(server.ended(Duration::from_secs(40)).0, 0);
    // An engine that listens is a Redis to the server that is pointed at it.
    let engine = all.iter().find(|words| words.iter().any(|word| word == "--resp")).unwrap();
    let engine = start(engine, None);
    for words in all[1..].iter().filter(|words| serves(words)) {
        let mut served = start(words, Some(&engine));
        served.signal("TERM");
        assert_eq!(served.ended(Duration::from_secs(40)).0, 0, "worldkeep {}", words.join(" "));
    }
}

#[test]
fn a_declared_key_that_is_not_there_yet_is_told_what_it_will_be() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["keys", "show", "wk:tokens", "--data", "memory"];
    let (code, _, err) = told(&output(&mut command(&dir, &args)));
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("the store holds no wk:tokens now; it is declared as:"), "{err}");
}

#[test]
fn every_command_of_the_documents_can_be_read() {
    let mut pages: Vec<_> = std::fs::read_dir(testkit::picture::workspace().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    pages.sort();
    let mut seen = 0;
    for page in pages {
        for words in commands(&page) {
            let args = std::iter::once("worldkeep".to_owned()).chain(words.clone());
            let args = worldkeep_cli::cli::with_default_verb(args.map(Into::into).collect());
            if let Err(error) = worldkeep_cli::cli::Cli::try_parse_from(args) {
                panic!("{}: worldkeep {}: {error}", page.display(), words.join(" "));
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} commands were found");
}
