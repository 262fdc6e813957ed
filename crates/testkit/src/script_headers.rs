//! Holds the header of a script against its body, the keyspace tables and the Cluster slots. The header's form is
//! described in `kernel::script_headers`, which reads it.

mod body;

use std::collections::BTreeSet;

use body::Body;
use kernel::Script;
use kernel::keyspace::{KeyDef, Layout, Table};
use kernel::script_headers::{Header, Slot, parse};

/// The problems of a script; none when its header tells the truth.
pub fn problems(script: &Script, tables: &[&Table]) -> Vec<String> {
    let header = match parse(script.source()) {
        Ok(header) => header,
        Err(problem) => return vec![problem],
    };
    let mut problems = Vec::new();
    if header.name != script.name() {
        problems.push(format!("the header says {}, the file {}", header.name, script.name()));
    }
    let body = Body::of(script.source());
    body.check_slots("KEYS", &header.keys, &mut problems);
    body.check_slots("ARGV", &header.args, &mut problems);
    body.check_calls(&header, &mut problems);
    body.check_answers(&header, &mut problems);
    check_patterns(&header, tables, &mut problems);
    problems
}

/// Panics with all problems of all scripts; the test of [`crate::scripts_keep_their_headers!`].
pub fn assert_all(scripts: &[&Script], tables: &[&Table]) {
    let all: Vec<String> = scripts
        .iter()
        .flat_map(|script| {
            problems(script, tables).into_iter().map(|line| format!("{}: {line}", script.name()))
        })
        .collect();
    assert!(all.is_empty(), "script headers that do not hold:\n{}", all.join("\n"));
}

/// One line in a crate's tests: `testkit::scripts_keep_their_headers!(SCRIPTS, &[&keys::TABLE]);`.
#[macro_export]
macro_rules! scripts_keep_their_headers {
    ($scripts:expr, $tables:expr) => {
        #[test]
        fn scripts_keep_their_headers() {
            $crate::script_headers::assert_all($scripts, $tables);
        }
    };
}

/// Patterns are declared, and all of a script's keys share a slot in the tagged layout.
fn check_patterns(header: &Header, tables: &[&Table], problems: &mut Vec<String>) {
    let mut common: Option<BTreeSet<String>> = None;
    for slot in header.keys.iter().filter(|slot| slot.pattern.ends_with(':')) {
        let Slot { number, name, .. } = slot;
        problems.push(format!("KEYS {number} {name} is a part of a key: pass it in ARGV"));
    }
    let keys = header.keys.iter().map(|slot| slot.pattern.as_str());
    for pattern in keys.chain(header.builds.iter().map(String::as_str)).filter(|p| *p != "*") {
        let found: Vec<&KeyDef> = tables
            .iter()
            .flat_map(|table| table.keys.iter().copied())
            .filter(|def| matches(pattern, def.pattern(Layout::Plain).text()))
            .collect();
        if found.is_empty() {
            problems.push(format!("{pattern} is in no table"));
            continue;
        }
        let tags: BTreeSet<String> = found.iter().map(|def| tag(def)).collect();
        common = match common {
            None => Some(tags),
            Some(before) => {
                let both: BTreeSet<String> = before.intersection(&tags).cloned().collect();
                if both.is_empty() {
                    problems.push(format!(
                        "{pattern} is in another slot than the keys before it, in the tagged layout"
                    ));
                }
                Some(both)
            }
        };
    }
}

/// Whether a header's pattern is this one of a table; `{anything}` in the header stands for one part.
fn matches(written: &str, declared: &str) -> bool {
    let written: Vec<&str> = written.split(':').collect();
    let declared: Vec<&str> = declared.split(':').collect();
    let part = |text: &str| text.starts_with('{') && !text.starts_with("{{") && text.ends_with('}');
    written.len() == declared.len()
        && written.iter().zip(&declared).all(|(left, right)| left == right || part(left))
}

/// The part of a key that decides its slot in the tagged layout: its scope, a literal tag, or all
/// of it.
fn tag(def: &KeyDef) -> String {
    let shown = def.pattern(Layout::Tagged).shown();
    let inner = shown.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    inner.map_or(shown.clone(), |(tag, _)| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use kernel::keyspace::own;

    use super::*;

    #[allow(dead_code, unreachable_pub)] // a table has more than one test needs
    mod keys {
        use kernel::keyspace::Life;

        kernel::keyspace! {
            module = "rooms" by "code", about = "Rooms.", prefixes = &["room:", "wk:rooms:"],
            ;
            /// Facts.
            seed meta(code: Code) = "room:{code}:meta", Json, Life::None;
            /// Claims.
            seed claims(code: Code) = "room:{code}:claims", Hash, Life::None;
            /// Timers.
            own due(code: Code) = "wk:rooms:{code}:due", Zset, Life::None;
            /// Their data.
            own due_data(code: Code) = "wk:rooms:{code}:due:data", Hash, Life::None;
            /// Not of one room.
            own events() = "wk:rooms:events", Stream, Life::None;
        }
    }

    crate::scripts_keep_their_headers!(kernel::SCRIPTS, &[&own::TABLE, &keys::TABLE]);

    const GOOD: &str = "\
-- claim: a device holds at most one player.
-- More of the sentence.
-- KEYS 1 claims  room:{code}:claims
-- ARGV 1 player
-- ARGV 2 device
-- GIVES ok | taken_now
local claims, player, device = KEYS[1], ARGV[1], ARGV[2] -- KEYS[9] in a comment
if redis.call('HGET', claims, player) then return 'taken_now' end
redis.call('HSET', claims, player, device)
return 'ok'
";

    fn problems_of(source: &str) -> String {
        let source: &'static str = Box::leak(source.to_owned().into_boxed_str());
        problems(&Script::new("claim", source), &[&keys::TABLE]).join("; ")
    }

    #[test]
    fn a_header_is_read() {
        let header = parse(GOOD).unwrap();
        assert_eq!(header.name, "claim");
        assert_eq!(header.sentence, "a device holds at most one player. More of the sentence.");
        assert_eq!(header.keys[0].pattern, "room:{code}:claims");
        assert_eq!(header.args[1].name, "device");
        assert_eq!(header.gives, ["ok", "taken_now"]);
        assert_eq!(problems_of(GOOD), "");
    }

    #[test]
    fn every_lie_is_found() {
        for (from, to, problem) in [
            ("-- claim:", "-- clam:", "the header says clam, the file claim"),
            ("-- ARGV 2 device\n", "", "ARGV[2] is used and not in the header"),
            ("-- ARGV 2 device\n", "-- ARGV 2 device\n-- ARGV 3 x\n", "ARGV 3 x is never used"),
            (
                "-- ARGV 2 device\n",
                "-- ARGV 3 device\n",
                "line 5: ARGV must count 1, 2, 3 and end with the rest",
            ),
            (
                "KEYS[1], ",
                "KEYS[tonumber(ARGV[1])], ",
                "KEYS is used by a computed number: the header needs `n..`",
            ),
            ("room:{code}:claims", "room:{code}:clams", "room:{code}:clams is in no table"),
            ("-- GIVES ok | taken_now\n", "", "GIVES is missing: say what the script answers"),
            ("| taken_now", "", "returns taken_now, which GIVES does not have"),
            ("| taken_now", "| taken_now | gone", "GIVES gone, and the body never says it"),
            (
                "'HSET', claims",
                "'HSET', 'room:x:claims'",
                "HSET on 'room:x:claims', which is not from KEYS: say BUILDS",
            ),
            (
                "'HSET', claims",
                "'HSET', 'room:' .. player",
                "HSET on 'room:' .. player, which is not from KEYS: say BUILDS",
            ),
            (
                "'HSET', claims",
                "'HSET', device",
                "HSET on device, which is not from KEYS: say BUILDS",
            ),
            (
                "-- GIVES",
                "-- BUILDS room:{code}:meta\n-- GIVES",
                "the header has BUILDS and the body builds no key",
            ),
            (
                "redis.call('HGET', claims, player)",
                "redis.call('TIME')",
                "TIME has no place in a script",
            ),
            (
                "redis.call('HSET'",
                "redis.call(player",
                "a command's name is computed: the header needs CALLS",
            ),
            (
                "-- GIVES",
                "-- CALLS HSET\n-- GIVES",
                "the header has CALLS and every command is named in the body",
            ),
            (
                "-- KEYS 1 claims  room:{code}:claims",
                "-- KEYS 1 claims",
                "line 3: a key needs its pattern, or * for any key of the scope",
            ),
        ] {
            let source = GOOD.replace(from, to);
            assert_ne!(source, GOOD, "{from}");
            assert!(problems_of(&source).contains(problem), "{problem}\n{}", problems_of(&source));
        }
        assert!(problems_of("return 1").contains("line 1 must be"));
    }

    #[test]
    fn keys_of_different_slots_are_found() {
        let two = |second: &str| {
            let key = format!("room:{{code}}:claims\n-- KEYS 2 other  {second}");
            GOOD.replace("room:{code}:claims", &key)
                .replace("player, device = KEYS[1]", "player, device, other = KEYS[1]")
                .replace("ARGV[2] --", "ARGV[2], KEYS[2] --")
        };
        assert_eq!(problems_of(&two("room:{code}:meta")), "");
        assert!(problems_of(&two("room:{code}:")).contains("KEYS 2 other is a part of a key"));
        assert!(problems_of(&two("wk:rooms:events")).contains("another slot"));
    }

    #[test]
    fn built_keys_are_held_against_their_patterns() {
        let built = |pattern: &str| {
            GOOD.replace("-- GIVES", &format!("-- BUILDS {pattern}\n-- GIVES"))
                .replace("'HSET', claims", "'HSET', 'room:' .. player .. ':meta'")
        };
        assert_eq!(problems_of(&built("room:{code}:meta")), "");
        assert!(problems_of(&built("wk:rooms:{code}:due")).contains("which no BUILDS begins with"));
    }
}
