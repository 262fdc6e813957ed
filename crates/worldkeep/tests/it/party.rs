//! `worldkeep party`: the terminal says where the big screen is and where phones go, and phones find nothing else there.

use serde_json::Value;

use crate::support::{command, get_at, output, serve_raw, told};

const SERVE: &[&str] =
    &["--http", "127.0.0.1:0", "--data", "memory", "--no-demo", "--modules", "rooms"];

fn party<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["party"], SERVE, more].concat()
}

#[test]
fn the_terminal_shows_where_guests_go_and_guests_find_the_game_alone() {
    let mut served = serve_raw(&party(&["--address", "127.0.0.2:0"]));
    let line = |word: &str| {
        let found = served.lines.iter().find(|line| line.starts_with(word));
        found.unwrap_or_else(|| panic!("no {word} in {:?}", served.lines)).clone()
    };
    let own = served.url();
    assert!(line("Party").contains(&format!("{own}/party ")), "{}", line("Party"));
    let guests = line("Guests");
    let url = guests.split_whitespace().nth(1).unwrap().strip_suffix("/play").unwrap();
    let at = url.strip_prefix("http://").unwrap();
    assert!(at.starts_with("127.0.0.2:"), "{guests}");
    let warned = served.lines.iter().any(|line| line.contains("phones cannot reach this address"));
    assert!(warned, "loopback is told to be no use: {:?}", served.lines);
    let code: Vec<&String> =
        served.lines.iter().filter(|line| line.contains("█▀▀") || line.contains("▄▄▄▄▄")).collect();
    assert!(code.len() >= 3, "a QR code: {:?}", served.lines);
    let at: std::net::SocketAddr = at.parse().unwrap();
    assert_eq!(get_at(at, "/play").0, 200);
    assert_eq!(get_at(at, "/api/overview").0, 404);
    assert_eq!(get_at(at, "/healthz").0, 404);
    assert_eq!(served.get("/api/overview").0, 200);
    served.signal("TERM");
    assert_eq!(served.ended(std::time::Duration::from_secs(40)).0, 0, "both listeners stop");
}

#[test]
fn a_party_that_cannot_be_opened_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |args: &[&str]| {
        let (code, out, err) = told(&output(&mut command(&dir, &party(args))));
        assert_eq!(out, "", "nothing is announced");
        (code, err)
    };
    let (code, err) = refused(&["--address", "laptop.local"]);
    assert!(code == 2 && err.contains("--address laptop.local: write an IP address"), "{err}");
    // An address of documentation, which no machine has.
    let (code, err) = refused(&["--address", "192.0.2.77:0"]);
    assert!(code == 1 && err.contains("choose an address of this machine with --address"), "{err}");
    let (code, out, err) = told(&output(&mut command(
        &dir,
        &["party", "--modules", "jobs", "--data", "memory", "--http", "127.0.0.1:0"],
    )));
    assert!(code == 2 && err.contains("the party game is the module rooms"), "{out}{err}");
}

#[test]
fn programs_are_told_the_addresses_as_json() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;
    let dir = tempfile::tempdir().unwrap();
    let args = party(&["--address", "127.0.0.2:0", "--json"]);
    let mut child =
        command(&dir, &args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert!(told["guests"].as_str().unwrap().starts_with("http://127.0.0.2:"), "{told}");
    assert!(told["big_screen"].as_str().unwrap().ends_with("/party"), "{told}");
}
