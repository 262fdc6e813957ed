//! The scripts that the packages of other languages ship, as one text: each with its hash, the names of its arguments and
//! its source. The packages in `clients/` hold exactly this, and a digest over all tells whether two programs have the same.

use std::fmt::Write as _;
use std::sync::LazyLock;

use kernel::Script;
use kernel::script_headers::parse;
use serde_json::{Value, json};

use crate::scripts::SCRIPTS;

/// Scripts that a producer or a worker runs. All others belong to schedulers and operators.
const SHIPPED: &[&str] = &[
    "cancel",
    "enqueue",
    "enqueue_dependent",
    "finish_and_claim",
    "join_groups",
    "pause",
    "progress",
    "promote",
    "put_cron",
    "quarantine",
    "reclaim",
    "register",
    "renew",
    "resume",
    "unregister",
];

fn shipped() -> impl Iterator<Item = &'static Script> {
    SCRIPTS.iter().copied().filter(|script| SHIPPED.contains(&script.name()))
}

/// The digest of the shipped scripts: SHA-1 over a line `name hash` for each, by name.
pub(crate) fn digest() -> &'static str {
    static DIGEST: LazyLock<String> = LazyLock::new(|| {
        let mut lines: Vec<String> =
            shipped().map(|script| format!("{} {}\n", script.name(), script.sha())).collect();
        lines.sort_unstable();
        kernel::sha1_hex(lines.concat().as_bytes())
    });
    &DIGEST
}

/// Name, hash, arguments and source of each shipped script, one in a line, by name.
pub(crate) fn scripts_json() -> String {
    let mut rows: Vec<(&str, Value)> =
        shipped().map(|script| (script.name(), row(script))).collect();
    rows.sort_unstable_by_key(|(name, _)| *name);
    let mut text = "{\n".to_owned();
    for (at, (name, row)) in rows.iter().enumerate() {
        let comma = if at + 1 < rows.len() { "," } else { "" };
        let _ = writeln!(text, "\"{name}\": {row}{comma}");
    }
    text + "}"
}

fn row(script: &Script) -> Value {
    let header = parse(script.source()).unwrap_or_default();
    let args: Vec<&str> = header.args.iter().map(|slot| slot.name.as_str()).collect();
    let rest = header.args.last().filter(|slot| slot.rest).map(|slot| slot.name.as_str());
    json!({ "sha1": script.sha(), "args": args, "rest": rest, "lua": script.source() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const AGAIN: &str = "UPDATE_EXPECT=1 cargo nextest run -p worldkeep-jobs packages_hold";

    #[test]
    fn every_shipped_script_is_one_of_ours() {
        assert_eq!(shipped().count(), SHIPPED.len());
    }

    /// The packages hold these very scripts, and the table of fields.
    #[test]
    fn packages_hold_the_scripts_of_this_crate() {
        let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients");
        let fields = std::fs::read_to_string(clients.join("fields.json")).unwrap();
        let fields = fields.trim();
        let (digest, scripts) = (digest(), scripts_json());
        let json = format!(
            "{{\n\"digest\": \"{digest}\",\n\"fields\": {fields},\n\"scripts\": {scripts}\n}}\n"
        );
        serde_json::from_str::<Value>(&json).expect("it is JSON");
        let js = format!(
            "// Made from crates/jobs/scripts and clients/fields.json: {AGAIN}\n\
             /** @type {{string}} */\nexport const DIGEST = '{digest}';\n\
             /** @type {{Record<string, any>}} */\nexport const FIELDS = {fields};\n\
             /** @type {{Record<string, {{sha1: string, args: string[], rest: string | null, lua: string}}>}} */\n\
             export const SCRIPTS = {scripts};\n"
        );
        for (file, wanted) in
            [("js/jobs/bundle.js", js), ("python/worldkeep/jobs/bundle.json", json)]
        {
            let path = clients.join(file);
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                std::fs::write(&path, &wanted).unwrap();
            }
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(found == wanted, "clients/{file} is not what this crate has: {AGAIN}");
        }
    }
}
