//! `worldkeep rooms ls|show|close|create`, on a store or over HTTP.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use crate::cli::{Global, Rooms};
use crate::exit::Failure;
use crate::path;
use crate::remote::{self, Ask};
use crate::view::{Column, Show, col, since, text, when};
use crate::{open, print};

const ROOMS: &[Column] = &[
    col("code", "/code").by(code),
    col("phase", "/phase"),
    col("players", "/players_active"),
    col("free", "/players_free"),
    col("made", "/created_at").by(since),
    col("ends", "/expires_at").by(when),
];

const ROOM: &[Column] = &[
    col("code", "/code").by(code),
    col("phase", "/phase"),
    col("players", "/players_active"),
    col("free seats", "/players_free"),
    col("made", "/created_at").by(since),
    col("ends", "/expires_at").by(when),
];

/// As people say it: `ABCD-2345`.
fn code(value: &Value) -> String {
    ::rooms::ids::show_code(&text(value))
}

pub(super) fn run(global: &Global, verb: &Rooms) -> Result<(), Failure> {
    match verb {
        Rooms::Ls { limit } => {
            let ask = Ask::get("/api/rooms").up_to(*limit);
            remote::run(global, &[], &ask, &Show::Table(ROOMS, "no room is open"))
        }
        Rooms::Show { code, state: false } => {
            let ask = Ask::get(path!("/api/rooms/{}", code));
            remote::run(global, &[], &ask, &Show::Facts(ROOM))
        }
        Rooms::Show { code, state: true } => {
            let ask = Ask::get(path!("/api/rooms/{}/state", code));
            let lines = |state: &Value| {
                let pretty = serde_json::to_string_pretty(state).unwrap_or_default();
                pretty.lines().map(crate::view::plain).collect()
            };
            remote::run(global, &[], &ask, &Show::Lines(&lines))
        }
        Rooms::Close { code } => {
            open::confirm(
                global,
                &format!("close room {code}; the game ends for everybody in it"),
            )?;
            let said = |_: &Value| format!("closed {code}");
            remote::run(global, &[], &Ask::delete(path!("/api/rooms/{}", code)), &Show::Says(&said))
        }
        Rooms::Create { file } => create(global, file),
    }
}

fn create(global: &Global, file: &Path) -> Result<(), Failure> {
    let read = || -> std::io::Result<String> {
        if file == Path::new("-") {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            return Ok(text);
        }
        std::fs::read_to_string(file)
    };
    let shown = file.display();
    let text = read().map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
    let setup: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{shown} is not JSON: {error}")))?;
    let lines = |made: &Value| {
        if !global.quiet {
            print::note("keep the master key safe, it is shown only now");
        }
        vec![
            format!("code        {}", code(&made["code"])),
            format!("master key  {}", crate::view::text(&made["master_key"])),
            format!("join        {}", crate::view::text(&made["join_url"])),
        ]
    };
    remote::run(global, &[], &Ask::post("/api/rooms").body(setup), &Show::Lines(&lines))
}
