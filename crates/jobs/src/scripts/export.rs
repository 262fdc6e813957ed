//! The scripts for programs in other languages: the seed's four with their exact contracts, ours, a README of
//! their keys and arguments made from the headers, and test vectors that any client can run.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use kernel::Script;
use kernel::script_headers::{Header, Slot, parse};

use crate::scripts::{SCRIPTS, bundle};

macro_rules! seed_script {
    ($name:literal) => {
        Script::new($name, include_str!(concat!("../../seed_scripts/", $name, ".lua")))
    };
}

static CLAIM_JOB: Script = seed_script!("claim_job");
static PROCESS_DELAYED: Script = seed_script!("process_delayed");
static PROCESS_CRON: Script = seed_script!("process_cron");
static RELEASE_LOCK: Script = seed_script!("release_lock");

/// The scripts of the seed. We ship them; our own workers use supersets.
pub const SEED_SCRIPTS: &[&Script] = &[&CLAIM_JOB, &PROCESS_DELAYED, &PROCESS_CRON, &RELEASE_LOCK];

/// Test vectors of the seed's scripts: state before, call, reply, state after. A JSON array.
pub const VECTORS: &str = include_str!("../../seed_scripts/vectors.json");

/// The same of our own scripts, which may change with any release.
pub const OWN_VECTORS: &str = include_str!("../../scripts/vectors.json");

const INTRODUCTION: &str = include_str!("../../seed_scripts/README.md");

/// Writes everything into `dir`, which is made if it is not there, and tells the files in order.
pub fn export(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let own = dir.join("own");
    std::fs::create_dir_all(&own)?;
    let mut files = Vec::new();
    let mut write = |path: PathBuf, text: &str| {
        std::fs::write(&path, text)?;
        files.push(path);
        io::Result::Ok(())
    };
    write(dir.join("README.md"), &readme())?;
    for script in SEED_SCRIPTS {
        write(dir.join(format!("{}.lua", script.name())), script.source())?;
    }
    write(dir.join("vectors.json"), VECTORS)?;
    for script in SCRIPTS {
        write(own.join(format!("{}.lua", script.name())), script.source())?;
    }
    write(own.join("vectors.json"), OWN_VECTORS)?;
    write(own.join("scripts.json"), &(bundle::scripts_json() + "\n"))?;
    Ok(files)
}

/// The introduction, then a section per script from its header.
fn readme() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str("\n## The scripts of existing workers\n");
    for script in SEED_SCRIPTS {
        section(&mut text, script, "");
    }
    text.push_str("\n## Worldkeep's own scripts, in `own/`\n\n");
    let _ = writeln!(
        text,
        "`own/scripts.json` has those that a producer or a worker runs, with the names of their arguments. The packages for \
        Node and Python hold the same; SHA-1 over a line `name hash` for each, by name, is `{}`, and a scheduler that leads \
        tells it as `scripts` in `{{ns}}:scheduler:leader`.\n",
        bundle::digest()
    );
    text.push_str("They may change with any release; those of existing workers do not. Among their arguments `opts` is a text of letters:\n\n");
    for (letter, meaning, _) in crate::store::OPTS {
        let _ = writeln!(text, "- `{letter}`: {meaning}");
    }
    text.push_str(
        "\n`result_ttl` and `retention` are seconds for which the result, and data and status of an ended job stay; \
        with a `retention` of 0 they are deleted at its end, with -1 they are kept.\n",
    );
    for script in SCRIPTS {
        section(&mut text, script, "own/");
    }
    text
}

fn section(text: &mut String, script: &Script, folder: &str) {
    let Ok(header) = parse(script.source()) else { return };
    let Header { name, sentence, keys, args, gives, .. } = header;
    let _ = write!(text, "\n### `{folder}{name}.lua`\n\n{}\n\n", upper(&sentence));
    let _ = writeln!(text, "SHA-1 `{}`. Gives {}.\n", script.sha(), gives.join(", "));
    let line = |slot: &Slot| {
        let rest = if slot.rest { " and on" } else { "" };
        let pattern =
            if slot.pattern.is_empty() { String::new() } else { format!(" `{}`", slot.pattern) };
        format!("{}{rest} | {}{pattern}", slot.number, slot.name)
    };
    for (title, slots) in [("KEYS", &keys), ("ARGV", &args)] {
        if slots.is_empty() {
            continue;
        }
        let _ = writeln!(text, "| {title} | |\n|---|---|");
        for slot in slots {
            let _ = writeln!(text, "| {} |", line(slot));
        }
        text.push('\n');
    }
}

fn upper(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    #[test]
    fn scripts_of_the_seed_keep_their_headers() {
        for script in SEED_SCRIPTS {
            let mut problems = testkit::script_headers::problems(script, &[&keys::TABLE]);
            // The seed passes the prefix of the data as a key of this one, and its clients do so.
            if script.name() == "process_cron" {
                problems.retain(|line| !line.contains("dataPrefix") && !line.contains(":data: "));
            }
            assert!(problems.is_empty(), "{}: {problems:?}", script.name());
        }
    }

    #[test]
    fn an_export_has_every_script_a_readme_and_the_vectors() {
        let dir = std::env::temp_dir().join(format!("worldkeep-export-{}", std::process::id()));
        let files = export(&dir).unwrap();
        let text = std::fs::read_to_string(dir.join("README.md")).unwrap();
        for script in SEED_SCRIPTS.iter().chain(SCRIPTS) {
            assert!(files.iter().any(|file| file.file_stem().is_some_and(|s| s == script.name())));
            assert!(text.contains(script.sha()), "the README tells of {}", script.name());
        }
        assert!(text.contains("| 1 | waiting `{ns}:jobs:waiting` |"), "{text}");
        assert!(text.contains("- `n`: a job that completes leaves no result\n"), "{text}");
        let vectors: Vec<serde_json::Value> = serde_json::from_str(VECTORS).unwrap();
        assert!(vectors.len() > 50);
        assert!(dir.join("own/vectors.json").exists());
        let shipped = std::fs::read_to_string(dir.join("own/scripts.json")).unwrap();
        let shipped: serde_json::Value = serde_json::from_str(&shipped).unwrap();
        assert_eq!(shipped["renew"]["args"], serde_json::json!(["worker", "ttl", "ids"]));
        assert_eq!(shipped["renew"]["rest"], "ids");
        assert!(text.contains(bundle::digest()), "the README tells the digest");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
