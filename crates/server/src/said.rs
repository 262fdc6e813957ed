//! Sentences that the server makes about itself, as code and parameters. A page words them in its reader's language; the
//! English wording here is for the command line and for programs. `web/lang/said.en.js` is written from this table, and a
//! test holds it and the French one to it.
//!
//! Parameters: `n` chooses between one and many, `ns` names a namespace and fills `{in}`, a name that ends in `_ms` is a time.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A sentence for pages.
#[must_use]
#[derive(Debug, Clone, Default, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Said {
    /// Such as `jobs.dead`; the pages' catalogues know it as `said.jobs.dead`.
    pub code: &'static str,
    /// The values for the holes of the sentence.
    #[schema(value_type = Object)]
    pub params: BTreeMap<&'static str, Value>,
}

/// One sentence of the table: for one, and for many where that differs.
pub struct Wording {
    /// The code, such as `jobs.dead`.
    pub code: &'static str,
    /// When `n` is one.
    pub one: &'static str,
    /// Else.
    pub many: &'static str,
}

const fn same(code: &'static str, text: &'static str) -> Wording {
    Wording { code, one: text, many: text }
}

const fn both(code: &'static str, one: &'static str, many: &'static str) -> Wording {
    Wording { code, one, many }
}

/// Every sentence.
pub const WORDINGS: &[Wording] = &[
    same("in", " in {ns}"),
    both(
        "jobs.tile",
        "{active} running, {rate} per second, 1 worker",
        "{active} running, {rate} per second, {n} workers",
    ),
    same("jobs.tile.noworker", "{active} running, {rate} per second, no worker"),
    both(
        "jobs.noworker",
        "1 job waits{in} and no worker is alive.",
        "{n} jobs wait{in} and no worker is alive.",
    ),
    same("jobs.noleader", "No scheduler holds the lead{in}; cron waits."),
    same("jobs.old", "The job at the head{in} waits for {age_ms}."),
    both("jobs.dead", "One job{in} is a dead letter.", "{n} jobs{in} are dead letters."),
    both(
        "jobs.cronfailed",
        "The last firing of {id}{in} failed for good.",
        "The last firings of {n} recurring jobs{in} failed for good.",
    ),
    same("jobs.allpaused", "Every type is paused{in}."),
    both("jobs.paused", "{types} is paused{in}.", "{types} are paused{in}."),
    same("rooms.nobody", "Nobody is connected to this server."),
    both(
        "rooms.tile",
        "One screen is connected to this server.",
        "{n} screens in {rooms} rooms are connected to this server.",
    ),
    both(
        "rooms.overdue",
        "One vote waits for a close that is overdue.",
        "{n} votes wait for a close that is overdue.",
    ),
    same("monsters.none", "no monster lives anywhere"),
    both("monsters.tile", "in one field, timers: {timers}", "in {n} fields, timers: {timers}"),
    same("reactors.none", "no reactor stands anywhere"),
    both("reactors.tile", "of one tenant, timers: {timers}", "of {n} tenants, timers: {timers}"),
    same("galaxy.none", "There is no world yet: worldkeep galaxy init"),
    same("galaxy.lost", "The store has lost the world."),
    same("galaxy.ticking", "ticking at {rate} Hz, tick {tick}, {time}Z"),
    same("galaxy.paused", "paused at {rate} Hz, tick {tick}, {time}Z"),
    same("galaxy.look.paused", "The game is paused."),
    both("galaxy.look.behind", "One tick is due and not done.", "{n} ticks are due and not done."),
    same("galaxy.look.energy", "The energy of the bodies is off by {drift}."),
    both(
        "galaxy.look.snapshots",
        "One snapshot could not be kept; the log says why.",
        "{n} snapshots in a row could not be kept; the log says why.",
    ),
    same("galaxy.look.late", "Game time is {behind_ms} behind UTC."),
];

impl Said {
    /// A sentence of the table, without parameters.
    pub fn new(code: &'static str) -> Self {
        debug_assert!(WORDINGS.iter().any(|one| one.code == code), "{code} is not in the table");
        Said { code, params: BTreeMap::new() }
    }

    /// With a parameter.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.params.insert(name, value.into());
        self
    }

    /// With a number that a person reads: one digit after the point.
    pub fn tenths(self, name: &'static str, value: f64) -> Self {
        self.with(name, (value * 10.0).round() / 10.0)
    }

    /// In English.
    pub fn sentence(&self) -> String {
        let Some(wording) = WORDINGS.iter().find(|one| one.code == self.code) else {
            return self.code.to_owned();
        };
        let one = self.params.get("n").and_then(Value::as_u64) == Some(1);
        let mut text = (if one { wording.one } else { wording.many }).to_owned();
        let place = self.params.get("ns").and_then(Value::as_str);
        let place = place.map_or_else(String::new, |ns| format!(" in {ns}"));
        text = text.replace("{in}", &place);
        for (name, value) in &self.params {
            let shown = match value {
                Value::String(text) => text.clone(),
                Value::Number(ms) if name.ends_with("_ms") => {
                    jobs::span(ms.as_i64().unwrap_or(i64::MAX))
                }
                Value::Number(number) if number.is_f64() => {
                    format!("{:.1}", number.as_f64().unwrap_or_default())
                }
                other => other.to_string(),
            };
            text = text.replace(&format!("{{{name}}}"), &shown);
        }
        text
    }
}

/// `web/lang/said.en.js`.
pub fn english_page() -> String {
    use std::fmt::Write as _;
    let mut page = String::from(
        "// Sentences that the server makes, in English. Written from crates/server/src/said.rs; do not edit.\n\
         export default {\n",
    );
    for Wording { code, one, many } in WORDINGS {
        let _ = if one == many {
            writeln!(page, "  'said.{code}': '{one}',")
        } else {
            writeln!(page, "  'said.{code}': ['{one}', '{many}'],")
        };
    }
    page.push_str("};\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many_and_a_place_are_worded() {
        let dead = |n: u64| Said::new("jobs.dead").with("n", n);
        assert_eq!(dead(1).sentence(), "One job is a dead letter.");
        assert_eq!(dead(3).with("ns", "bridge").sentence(), "3 jobs in bridge are dead letters.");
        let old = Said::new("jobs.old").with("age_ms", 90_000);
        assert_eq!(old.sentence(), "The job at the head waits for 90 s.");
    }

    #[test]
    fn the_pages_know_every_sentence() {
        let web = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web/lang");
        let english = web.join("said.en.js");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&english, english_page()).unwrap();
        }
        // The pages' formatter breaks long lines; the words are the same.
        let words = |text: &str| {
            let plain = text.replace([' ', '\n'], "").replace(",]", "]");
            plain.replace("[\"", "['").replace('"', "'")
        };
        let kept = std::fs::read_to_string(english).unwrap();
        assert_eq!(words(&kept), words(&english_page()), "write it with UPDATE_EXPECT=1");
        let french = std::fs::read_to_string(web.join("said.fr.js")).unwrap();
        for Wording { code, one, many } in WORDINGS {
            let line = french.split(&format!("'said.{code}':")).nth(1);
            let line = line.unwrap_or_else(|| panic!("no French for {code}"));
            let line = line.split("\n  '").next().unwrap();
            let holes = |text: &str| {
                let all = text
                    .split('{')
                    .skip(1)
                    .filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()));
                all.collect::<std::collections::BTreeSet<_>>()
            };
            let english = &holes(one) | &holes(many);
            assert_eq!(holes(line), english, "the holes of {code}");
        }
    }
}
