//! Sentences that the server makes about itself, see `kernel::said`: its own table, and the catalogues of the pages, which are
//! written from the tables of all crates. A test holds `web/lang/said*.en.js` equal to them and every other language to the
//! same codes and holes.

use kernel::keyspace::Life;
use kernel::{Said, Wording};
use serde::Serialize;

use crate::modules::MODULES;

kernel::wordings! {
    IN = "in", " in {ns}";
    JOBS_TILE = "jobs.tile",
        "{active} running, {rate} per second, 1 worker",
        "{active} running, {rate} per second, {n} workers";
    JOBS_TILE_NOWORKER = "jobs.tile.noworker",
        "{active} running, {rate} per second, no worker";
    JOBS_NOWORKER = "jobs.noworker",
        "1 job waits{in} and no worker is alive.",
        "{n} jobs wait{in} and no worker is alive.";
    JOBS_NOLEADER = "jobs.noleader", "No scheduler holds the lead{in}; cron waits.";
    JOBS_OLD = "jobs.old", "The job at the head{in} waits for {age_ms}.";
    JOBS_DEAD = "jobs.dead",
        "One job{in} is a dead letter.",
        "{n} jobs{in} are dead letters.";
    JOBS_CRONFAILED = "jobs.cronfailed",
        "The last firing of {id}{in} failed for good.",
        "The last firings of {n} recurring jobs{in} failed for good.";
    JOBS_ALLPAUSED = "jobs.allpaused", "Every type is paused{in}.";
    JOBS_PAUSED = "jobs.paused", "{types} is paused{in}.", "{types} are paused{in}.";
    ROOMS_NOBODY = "rooms.nobody", "Nobody is connected to this server.";
    ROOMS_TILE = "rooms.tile",
        "One screen is connected to this server.",
        "{n} screens in {rooms} rooms are connected to this server.";
    ROOMS_OVERDUE = "rooms.overdue",
        "One vote waits for a close that is overdue.",
        "{n} votes wait for a close that is overdue.";
    MONSTERS_NONE = "monsters.none", "no monster lives anywhere";
    MONSTERS_TILE = "monsters.tile",
        "in one field, timers: {timers}",
        "in {n} fields, timers: {timers}";
    REACTORS_NONE = "reactors.none", "no reactor stands anywhere";
    REACTORS_TILE = "reactors.tile",
        "of one tenant, timers: {timers}",
        "of {n} tenants, timers: {timers}";
    GALAXY_NONE = "galaxy.none", "There is no world yet: worldkeep galaxy init";
    GALAXY_LOST = "galaxy.lost", "The store has lost the world.";
    GALAXY_TICKING = "galaxy.ticking", "ticking at {rate} Hz, tick {tick}, {game_at}";
    GALAXY_PAUSED = "galaxy.paused", "paused at {rate} Hz, tick {tick}, {game_at}";
    GALAXY_LOOK_PAUSED = "galaxy.look.paused", "The game is paused.";
    GALAXY_LOOK_BEHIND = "galaxy.look.behind",
        "One tick is due and not done.",
        "{n} ticks are due and not done.";
    GALAXY_LOOK_ENERGY = "galaxy.look.energy",
        "The energy of the bodies is off by {drift}.";
    GALAXY_LOOK_SNAPSHOTS = "galaxy.look.snapshots",
        "One snapshot could not be kept; the log says why.",
        "{n} snapshots in a row could not be kept; the log says why.";
    GALAXY_LOOK_LATE = "galaxy.look.late", "Game time is {behind_ms} behind UTC.";
    KEY_TYPE = "key.type", "it is a {is} and should be a {right}";
    KEY_ENDS = "key.ends", "it ends, and a key of this kind has no end";
    KEY_ENDLESS = "key.endless", "it has no end, and a key of this kind must have one";
    KEY_LONG = "key.long", "it lives longer than {most_ms}";
    KEY_SECRET = "key.secret", "this value is a secret and is never shown";
    KEY_PAYLOADS = "key.payloads", "seeing payloads needs a token with the right `payloads`";
    KEY_FOREIGN = "key.foreign", "values of keys that are not ours are shown to admins only";
    WHY_QUEUE = "jobs.why.queue", "it is in the queue, at place {place}";
    WHY_NOT_PAUSED = "jobs.why.notpaused", "its type is not paused";
    WHY_NO_LIMIT = "jobs.why.nolimit", "no limit holds it";
    WHY_WORKERS = "jobs.why.workers",
        "{may} of one worker may run it",
        "{may} of {n} workers may run it";
    WHY_MAY = "jobs.why.may", "may run it";
    WHY_MIGHT = "jobs.why.might", "might run it, but shows no sign of life";
    DOCTOR_FOREIGN = "jobs.doctor.foreign", "worker {worker} ({stack}) is of another program: it may take jobs whatever their target, pause or limit";
    DOCTOR_BARE = "jobs.doctor.bare",
        "one running job has no lease: a program with the four plain scripts has it; it is taken back when its lock ends",
        "{n} running jobs have no lease: a program with the four plain scripts has them; they are taken back when its lock ends";
    STORE_WHY = "store.why", "{trouble}: {why}";
    BACKUP_FAILED = "backup.failed", "the last backup failed: {why}";
    BACKUP_LATE = "backup.late", "the last backup is {age_ms} old; one is due each {every_ms}";
    STORE_HIDDEN = "store.kept.hidden", "not shown";
    STOPPING = "server.stopping", "the server is stopping";
}

/// A sentence with what pages need to word it themselves.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Told {
    /// In English.
    pub sentence: String,
    /// For pages.
    #[schema(value_type = SaidShape)]
    pub said: Said,
}

impl From<Said> for Told {
    fn from(said: Said) -> Self {
        Told { sentence: said.sentence(), said }
    }
}

/// How a sentence looks in answers.
#[derive(utoipa::ToSchema)]
#[schema(as = Said)]
#[allow(dead_code)] // For the API's document only.
pub struct SaidShape {
    /// Such as `jobs.dead`; the pages' catalogues know it as `said.jobs.dead`.
    code: String,
    /// The values for the holes of the sentence: texts, numbers, sentences, lists of them.
    #[schema(value_type = Object)]
    params: (),
}

/// Catalogues of the pages by the codes that go there. A code that none names goes to `said`, which most pages load.
const CATALOGUES: &[(&str, &[&str])] = &[
    ("saidcheck", &["check.", "galaxy.check.", "monsters.miscounted"]),
    ("saidjobs", &["jobs.why.", "jobs.doctor.", "cron.", "weekday.", "month."]),
    ("saidhealth", &["setting.", "loop."]),
    ("saidkeys", &["key.", "life."]),
    ("saiderrors", &["error."]),
];

/// Every sentence that this server can say, in all its parts: code, words for one, words for many.
fn all() -> Vec<(String, &'static str, &'static str)> {
    let tables: [&[&Wording]; 6] = [
        WORDINGS,
        kernel::check::WORDINGS,
        kernel::store_words::WORDINGS,
        jobs::WORDINGS,
        galaxy::WORDINGS,
        monsters::WORDINGS,
    ];
    let mut all: Vec<_> = tables
        .into_iter()
        .flatten()
        .map(|wording| (wording.code.to_owned(), wording.one, wording.many))
        .collect();
    let mut same = |code: String, says| all.push((code, says, says));
    for module in MODULES {
        for one in module.loops {
            same(format!("loop.{}", one.name), one.name);
        }
    }
    for def in crate::settings::defs() {
        same(format!("setting.{}", def.name), def.says);
    }
    for table in crate::modules::tables() {
        for def in table.keys {
            same(format!("key.{}.{}", def.module, def.name), def.sentence());
            if let Life::Computed(says) | Life::Sometimes(says) = def.life {
                same(format!("life.{}.{}", def.module, def.name), says);
            }
        }
    }
    for def in crate::reply::ERRORS {
        same(format!("error.{}", def.code), def.says);
    }
    for def in MODULES.iter().flat_map(|module| module.refusals) {
        same(format!("error.{}", def.code.to_lowercase()), def.says);
    }
    // Two modules may refuse with the same word; the first says it.
    let mut known = std::collections::HashSet::new();
    all.retain(|(code, ..)| known.insert(code.clone()));
    all
}

fn catalogue_of(code: &str) -> &'static str {
    let named = CATALOGUES.iter().find(|(_, codes)| codes.iter().any(|one| code.starts_with(one)));
    named.map_or("said", |(name, _)| name)
}

/// `web/lang/<catalogue>.en.js` of each catalogue.
pub fn english_pages() -> std::collections::BTreeMap<&'static str, String> {
    use std::fmt::Write as _;
    let mut pages = std::collections::BTreeMap::new();
    for (code, one, many) in all() {
        let page: &mut String = pages.entry(catalogue_of(&code)).or_insert_with(|| {
            "// Sentences that the server makes, in English. Written from its tables (crates/server/src/said.rs); do not edit.\n\
             export default {\n"
                .to_owned()
        });
        let _ = if one == many {
            writeln!(page, "  'said.{code}': {one:?},")
        } else {
            writeln!(page, "  'said.{code}': [{one:?}, {many:?}],")
        };
    }
    for page in pages.values_mut() {
        page.push_str("};\n");
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages' formatter chooses quotes and breaks long lines; the words are the same.
    fn words(text: &str) -> String {
        text.replace([' ', '\n', '"', '\'', '\\'], "").replace(",]", "]")
    }

    #[test]
    fn the_pages_know_every_sentence() {
        let web = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web/lang");
        for (name, page) in english_pages() {
            let english = web.join(format!("{name}.en.js"));
            if std::env::var_os("UPDATE_EXPECT").is_some() {
                std::fs::write(&english, &page).unwrap();
            }
            let kept = std::fs::read_to_string(english).unwrap_or_default();
            assert_eq!(words(&kept), words(&page), "{name}: write it with UPDATE_EXPECT=1");
        }
    }

    #[test]
    fn every_other_language_has_every_sentence_with_its_holes() {
        let web = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("web/lang");
        let files = std::fs::read_dir(&web).unwrap();
        let names: Vec<_> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        let languages: Vec<_> = names
            .iter()
            .filter_map(|name| name.strip_prefix("said.")?.strip_suffix(".js"))
            .filter(|language| *language != "en")
            .collect();
        assert!(languages.contains(&"fr"), "{languages:?}");
        let mut wrong = Vec::new();
        for (code, one, many) in all() {
            for language in &languages {
                let file = web.join(format!("{}.{language}.js", catalogue_of(&code)));
                let text = std::fs::read_to_string(file).unwrap_or_default();
                let line = text.split(&format!("'said.{code}':")).nth(1);
                let line = line.and_then(|rest| rest.split("\n  '").next());
                match line {
                    None => wrong.push(format!("{language}: no {code}: {one}")),
                    Some(line) if holes(line) != &holes(one) | &holes(many) => {
                        wrong.push(format!("{language}: other holes in {code}"));
                    }
                    Some(_) => {}
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    fn holes(text: &str) -> std::collections::BTreeSet<String> {
        let all =
            text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()));
        all.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).collect()
    }
}
