//! `worldkeep keys`: every declared key, from the tables; `keys show KEY`: one key of a live store.

use kernel::keyspace::{Life, markdown, rows};
use serde_json::Value;

use crate::cli::{Global, Keys, KeysVerb};
use crate::exit::Failure;
use crate::remote::{self, Ask};
use crate::view::{Show, text, took};
use crate::{path, print};

pub(super) fn run(global: &Global, flags: &Keys) -> Result<(), Failure> {
    match &flags.verb {
        Some(KeysVerb::Show { key }) => show(global, key),
        None => list(global, flags),
    }
}

fn list(global: &Global, flags: &Keys) -> Result<(), Failure> {
    let tables = super::tables(flags.module.as_deref())?;
    if flags.markdown {
        print::line(markdown(&tables).trim_end());
        return Ok(());
    }
    let rows = rows(&tables);
    if global.json {
        print::json(&rows);
        return Ok(());
    }
    let lines: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let life = match row.life {
                Life::None => "–".to_owned(),
                Life::Secs(seconds) => format!("{seconds} s"),
                Life::Inherited(name) => format!("with {name}"),
                Life::Computed(_) | Life::Sometimes(_) => "computed".to_owned(),
            };
            vec![
                row.module.to_owned(),
                row.key.clone(),
                row.redis_type.to_owned(),
                life,
                row.sentence.to_owned(),
            ]
        })
        .collect();
    print::table(&["module", "key", "type", "life", "meaning"], &lines);
    if !global.quiet {
        print::note(&format!("{} keys", rows.len()));
    }
    Ok(())
}

fn show(global: &Global, key: &str) -> Result<(), Failure> {
    let ask = Ask::get(path!("/api/keys/{}", key));
    remote::run(global, &[], &ask, &Show::Lines(&view))
}

fn view(view: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push(format!("{name:<11}{value}"));
    line("key", text(&view["key"]));
    let definition = &view["definition"];
    if definition.is_null() {
        line("meaning", "not one of ours".into());
    } else {
        line("meaning", text(&definition["says"]));
        line(
            "pattern",
            format!("{} ({})", text(&definition["pattern"]), text(&definition["module"])),
        );
        line("owner", text(&definition["owner"]));
        line("life", text(&definition["life"]));
    }
    line(
        "type",
        format!("{}, length {}, {} bytes", text(&view["type"]), view["length"], view["memory"]),
    );
    line(
        "ends",
        match view["ttl_ms"].as_i64() {
            Some(ms) if ms >= 0 => format!("in {}", took(&view["ttl_ms"])),
            _ => "never".into(),
        },
    );
    for finding in view["findings"].as_array().into_iter().flatten() {
        line("wrong", text(&finding["sentence"]));
    }
    if let Some(hidden) = view["hidden"].as_str() {
        line("value", format!("hidden: {hidden}"));
    } else if let Some(rows) = view["value"].as_array() {
        line("value", format!("{} shown", rows.len()));
        for row in rows {
            line("", text(row));
        }
    } else {
        line("value", text(&view["value"]));
    }
    for near in view["neighbours"].as_array().into_iter().flatten() {
        line("beside", text(&near["key"]));
    }
    lines
}
