//! `worldkeep log`: looks at the append-only log of a data directory that no server uses, and cuts
//! out the damaged parts.

use std::path::Path;

use serde_json::{Value, json};

use crate::cli::{Global, Log};
use crate::exit::Failure;
use crate::{open, print};

pub(super) fn run(global: &Global, verb: Log) -> Result<(), Failure> {
    if global.redis.is_some() {
        return Err(Failure::usage("a log is in a directory; name it with --data DIR"));
    }
    let dir = match &global.data {
        Some(dir) => dir.clone(),
        None => open::data_dir()?,
    };
    match verb {
        Log::Check => check(global, &dir),
        Log::Repair => {
            open::confirm(
                global,
                "cut the log where it is damaged and put the rest aside, beside it",
            )?;
            repair(global, &dir)
        }
    }
}

fn check(global: &Global, dir: &Path) -> Result<(), Failure> {
    let report = link::check_log(dir)?;
    let damage = report.damage.as_ref().map(ToString::to_string);
    if global.json {
        let files: Vec<Value> = report
            .files
            .iter()
            .map(
                |file| json!({ "file": file.path, "bytes": file.bytes, "commands": file.commands }),
            )
            .collect();
        let torn =
            report.torn.as_ref().map(|(file, bytes)| json!({ "file": file, "bytes": bytes }));
        print::json(&json!({ "files": files, "torn": torn, "damage": damage }));
    } else {
        for file in &report.files {
            print::line(format!(
                "{}: {} bytes, {} commands",
                file.path.display(),
                file.bytes,
                file.commands
            ));
        }
        if let Some((file, bytes)) = &report.torn {
            print::line(format!(
                "{}: the last {bytes} bytes are torn; the next start cuts them",
                file.display()
            ));
        }
    }
    if let Some(damage) = damage {
        return Err(Failure::failed(if global.json { String::new() } else { damage }));
    }
    if !global.json && !global.quiet {
        print::line("no damage");
    }
    Ok(())
}

fn repair(global: &Global, dir: &Path) -> Result<(), Failure> {
    let done = link::repair_log(dir)?;
    if global.json {
        let aside: Vec<Value> = done
            .aside
            .iter()
            .map(|part| {
                json!({
                    "from": part.from,
                    "offset": part.offset,
                    "bytes": part.bytes,
                    "kept_in": part.kept_in,
                })
            })
            .collect();
        let damage: Vec<String> = done.damage.iter().map(ToString::to_string).collect();
        print::json(&json!({ "damage": damage, "aside": aside, "commands": done.commands }));
        return Ok(());
    }
    for part in &done.aside {
        print::line(format!(
            "{}: {} bytes from byte {} on are no longer part of the log; they are in {}",
            part.from.display(),
            part.bytes,
            part.offset,
            part.kept_in.display()
        ));
    }
    if !global.quiet {
        let what = if done.aside.is_empty() { "nothing was damaged" } else { "repaired" };
        print::line(format!("{what}; the log has {} commands", done.commands));
    }
    Ok(())
}
