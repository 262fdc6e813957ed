//! What must hold across the tables of all modules: the seeds' 59 patterns byte for byte, no name or key that
//! could mean two things, hostile ids refused, and one slot per scope in the tagged layout.

#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, HashSet};

use kernel::keyspace::{Classifier, KeyDef, Kind, Layout, Origin, Table, Type, scan_glob, slot};
use proptest::prelude::*;

fn tables() -> Vec<&'static Table> {
    server::modules::tables()
}

fn defs() -> impl Iterator<Item = &'static KeyDef> {
    tables().into_iter().flat_map(|table| table.keys.iter().copied())
}

/// Written from the seeds: pattern as it stands there, and the type it states.
const SEEDS: &[(&str, &str, &str)] = &[
    ("000", "reactors:next_id", "string"),
    ("000", "reactors:all", "set"),
    ("000", "reactor:{id}", "string"),
    ("000", "reactors:map:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}", "set"),
    (
        "000",
        "reactor:cd:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}:{classification}:{x}:{y}",
        "string",
    ),
    ("001", "atlas:monster:{tenantId}:{uniqueId}", "string"),
    ("001", "atlas:monster-map:{tenantId}:{worldId}:{channelId}:{mapId}:{instance}", "set"),
    ("001", "atlas:monster-ids:{tenantId}:next", "string"),
    ("001", "atlas:monster-ids:{tenantId}:free", "list"),
    ("001", "atlas:monster-cooldown:{tenantId}:{monsterId}:{skillId}", "string"),
    ("001", "atlas:drop-timer:{tenantId}:{uniqueId}", "string"),
    ("002", "ship:{ship_id}", "hash"),
    ("002", "station:{station_id}", "hash"),
    ("002", "body:{name}", "hash"),
    ("002", "game:tick", "string"),
    ("002", "game:time", "string"),
    ("002", "game:total_spawns", "string"),
    ("002", "game:paused", "string"),
    ("002", "game:tick_rate", "string"),
    ("002", "game:time_scale", "string"),
    ("002", "game:time_sync", "string"),
    ("002", "game:time_drift", "string"),
    ("002", "game:registration_open", "string"),
    ("002", "maneuver:{ship_id}", "hash"),
    ("002", "automation:{ship_id}:rules", "set"),
    ("002", "automation:{ship_id}:{rule_id}", "hash"),
    ("002", "connections:online", "set"),
    ("002", "system:{system_id}:bodies", "set"),
    ("002", "system:{system_id}:ships", "set"),
    ("002", "system:{system_id}:stations", "set"),
    ("002", "system:{system_id}:jumpgates", "set"),
    ("002", "player:{player_id}:active_ship", "string"),
    ("002", "player:{player_id}:ships", "set"),
    ("003", "room:{code}:meta", "string"),
    ("003", "room:{code}:senders", "string"),
    ("003", "room:{code}:players", "string"),
    ("003", "room:{code}:claims", "hash"),
    ("003", "room:{code}:scores", "hash"),
    ("003", "room:{code}:round_delta:{round_id}", "hash"),
    ("003", "room:{code}:game", "string"),
    ("003", "room:{code}:round:{round_id}", "string"),
    ("003", "room:{code}:votes:{round_id}:{item_id}", "hash"),
    ("004", "bridge:workers:{serverId}", "string"),
    ("004", "bridge:workers:heartbeat:{serverId}", "string"),
    ("004", "bridge:workers:active", "set"),
    ("004", "bridge:jobs:data:{jobId}", "string"),
    ("004", "bridge:jobs:status:{jobId}", "string"),
    ("004", "bridge:jobs:result:{jobId}", "string"),
    ("004", "bridge:jobs:lock:{jobId}", "string"),
    ("004", "bridge:jobs:progress:{jobId}", "string"),
    ("004", "bridge:jobs:waiting", "list"),
    ("004", "bridge:jobs:active", "set"),
    ("004", "bridge:jobs:delayed", "zset"),
    ("004", "bridge:jobs:cron", "zset"),
    ("004", "bridge:jobs:deadletter", "list"),
    ("004", "bridge:ratelimit:concurrent:{jobType}", "string"),
    ("004", "bridge:ratelimit:minute:{jobType}", "string"),
    ("004", "bridge:queues:paused", "set"),
    ("004", "bridge:scheduler:lock", "string"),
];

#[test]
fn every_pattern_of_the_seeds_is_there_byte_for_byte() {
    assert_eq!(SEEDS.len(), 59);
    for &(seed, pattern, type_) in SEEDS {
        // The seed's namespace is a placeholder for us: one server may serve several.
        let pattern = match pattern.strip_prefix("bridge:") {
            Some(rest) => format!("{{ns}}:{rest}"),
            None => pattern.to_owned(),
        };
        let table = tables().into_iter().find(|table| table.seed == Some(seed)).unwrap();
        let def = table.keys.iter().find(|def| def.pattern == pattern);
        let def = def.unwrap_or_else(|| panic!("{pattern} of seed {seed} is missing"));
        assert_eq!(def.origin, Origin::Seed, "{pattern}");
        assert_eq!(def.type_.redis(), type_, "{pattern}");
    }
    assert_eq!(defs().filter(|def| def.origin == Origin::Seed).count(), 59);
}

#[test]
fn no_name_and_no_pattern_occurs_twice() {
    let mut names = HashSet::new();
    let mut patterns = HashSet::new();
    for def in defs() {
        assert!(names.insert((def.module, def.name)), "{} {}", def.module, def.name);
        for layout in Layout::ALL {
            assert!(patterns.insert((layout, def.pattern(layout).shown())), "{}", def.pattern);
        }
        assert!(!def.sentence().is_empty() && def.sentence().ends_with(['.']), "{}", def.name);
    }
}

#[test]
fn own_keys_are_under_wk_or_named_as_exceptions() {
    let exceptions = [
        "room:{code}:vote_deadline",
        "jumpgate:{jumpgate_id}",
        "game:restoring",
        "game:engine_lock",
    ];
    for def in defs().filter(|def| def.origin == Origin::Own && def.is_key()) {
        let ours = def.pattern.starts_with("wk:")
            || ["{ns}:x:", "{ns}:metrics:"].iter().any(|head| def.pattern.starts_with(head))
            || ["{ns}:events:stream", "{ns}:scheduler:leader"].contains(&def.pattern)
            || def.pattern.starts_with("galaxy:")
            || def.pattern.starts_with("{{connections:online}}:")
            || exceptions.contains(&def.pattern);
        assert!(ours, "{}", def.pattern);
    }
}

#[test]
fn every_relation_names_what_exists() {
    for table in tables() {
        for def in table.keys {
            let there = |name: &str| table.def(name).unwrap_or_else(|| panic!("no key {name}"));
            if let Some(index) = def.index {
                let named = there(index.names);
                assert!(named.params.iter().any(|param| param.name == index.fills), "{}", def.name);
                for (param, _) in index.complete.unwrap_or_default() {
                    assert!(def.params.iter().any(|own| own.name == *param), "{}", def.name);
                }
            }
            if let Some(belongs) = def.belongs {
                there(belongs.to);
            }
            for name in def.placed.iter().flat_map(|placed| placed.in_any) {
                there(name);
            }
            if let kernel::keyspace::Life::Inherited(name) = def.life {
                there(name);
            }
        }
    }
}

/// Whether some key could have both patterns, going by segments. Kinds that may share a value count as equal.
fn overlap(left: &KeyDef, right: &KeyDef, layout: Layout) -> bool {
    let shown = [left, right].map(|def| def.pattern(layout).shown());
    let [l, r] = [&shown[0], &shown[1]].map(|text| text.split(':').collect::<Vec<_>>());
    let kind = |def: &KeyDef, segment: &str| {
        let name = segment.trim_matches(['{', '}', '<', '>']);
        def.params.iter().find(|param| param.name == name).expect("a parameter").kind
    };
    let is_part = |segment: &str| segment.contains('<');
    let reserved =
        |def: &KeyDef, word: &str| def.reserved.iter().any(|(_, words)| words.contains(&word));
    for at in 0..l.len().max(r.len()) {
        let (Some(&a), Some(&b)) = (l.get(at), r.get(at)) else {
            let last =
                if l.len() < r.len() { (left, l[l.len() - 1]) } else { (right, r[r.len() - 1]) };
            return is_part(last.1) && kind(last.0, last.1).spans();
        };
        let meet = match (is_part(a), is_part(b)) {
            (false, false) => a == b,
            (true, false) => kind(left, a).check(b).is_ok() && !reserved(left, b),
            (false, true) => kind(right, b).check(a).is_ok() && !reserved(right, a),
            (true, true) => true,
        };
        // What may hold a colon takes all that follows.
        let takes_all = |def, part| is_part(part) && kind(def, part).spans();
        if !meet {
            return false;
        }
        if takes_all(left, a) || takes_all(right, b) {
            return true;
        }
    }
    true
}

#[test]
fn no_key_can_mean_two_things() {
    let all: Vec<_> = defs().filter(|def| def.is_key()).collect();
    for layout in Layout::ALL {
        for (at, left) in all.iter().enumerate() {
            for right in &all[at + 1..] {
                // A namespace is never the head of another table, which the next test holds.
                let namespaced = |def: &KeyDef| def.module == "jobs";
                if namespaced(left) != namespaced(right) {
                    continue;
                }
                assert!(!overlap(left, right, layout), "{} and {}", left.pattern, right.pattern);
            }
        }
    }
}

#[test]
fn no_namespace_is_the_head_of_another_table() {
    for def in defs().filter(|def| def.module != "jobs" && def.is_key()) {
        let head = def.pattern.trim_start_matches('{').split([':', '}']).next().unwrap();
        assert!(Kind::Namespace.check(head).is_err(), "a namespace may be called {head}");
        assert!(Kind::Namespace.check(&format!("{{{head}}}")).is_err(), "{head} in braces");
    }
}

#[test]
fn every_key_starts_with_a_prefix_of_its_module() {
    let classifier = Classifier::new(&tables(), &["bridge"]);
    for def in defs().filter(|def| def.is_key()) {
        for layout in Layout::ALL {
            let values = sample(def, 0);
            let key = def.render(layout, &borrowed(&values)).unwrap();
            assert_eq!(classifier.owner_of_prefix(key.as_bytes()), Some(def.module), "{key}");
        }
    }
}

fn borrowed<'a>(values: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    values.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// Harmless values, all different for different numbers.
fn sample(def: &KeyDef, number: u32) -> Vec<(&'static str, String)> {
    let value = |kind| match kind {
        Kind::Uuid => format!("{number:08x}-1111-4111-8111-111111111111"),
        Kind::U8 => (number % 256).to_string(),
        Kind::U32 => number.to_string(),
        Kind::I16 => format!("-{}", number % 30_000 + 1),
        Kind::Code => format!("ABCD{number}"),
        Kind::Namespace => "bridge".to_owned(),
        Kind::Day => format!("{:08}", 20_260_000 + number % 1_000),
        Kind::Sha256 => format!("{number:064x}"),
        Kind::JobId | Kind::Path => format!("job:{number}"),
        Kind::JobType => format!("{{type}}:*[{number}]"),
        Kind::Word | Kind::Name | Kind::Host => format!("id-{number}"),
    };
    def.params.iter().map(|param| (param.name, value(param.kind))).collect()
}

#[test]
fn a_literal_beats_a_placeholder() {
    let classifier = Classifier::new(&tables(), &["bridge"]);
    let name = |key: &str| classifier.classify(key.as_bytes()).map(|found| found.def.name);
    let ship = "11111111-1111-4111-8111-111111111111";
    assert_eq!(name(&format!("automation:{ship}:rules")), Some("rules"));
    assert_eq!(name(&format!("automation:{ship}:{ship}")), Some("rule"));
    assert_eq!(name("bridge:workers:active"), Some("workers_active"));
    assert_eq!(name("bridge:workers:w1"), Some("worker"));
    assert_eq!(name("bridge:workers:heartbeat:active"), Some("heartbeat"));
    assert_eq!(name("bridge:workers:heartbeat"), None);
    assert_eq!(name("reactor:1000000001"), Some("reactor"));
    assert_eq!(name("reactor:cd"), None);
    assert_eq!(name("other:jobs:waiting"), None);
    assert_eq!(name("room:ABCD1234:bus"), None, "a channel is no key");
    assert_eq!(classifier.classify(b"room:\xff\xff:meta"), None);
}

#[test]
fn classify_tells_the_layout() {
    let classifier = Classifier::new(&tables(), &["bridge", "{own}"]);
    let layout = |key: &str| classifier.classify(key.as_bytes()).map(|found| found.layout);
    assert_eq!(layout("room:ABCD1234:meta"), Some(Some(Layout::Plain)));
    assert_eq!(layout("room:{ABCD1234}:meta"), Some(Some(Layout::Tagged)));
    assert_eq!(layout("game:tick"), Some(None));
    assert_eq!(layout("{connections:online}:count"), Some(None));
    assert_eq!(layout("bridge:jobs:waiting"), Some(Some(Layout::Plain)));
    assert_eq!(layout("{bridge}:jobs:waiting"), Some(Some(Layout::Tagged)));
    assert_eq!(layout("{own}:jobs:waiting"), Some(None), "a namespace may bring its own tag");
    assert_eq!(layout("own:jobs:waiting"), None);
}

#[test]
fn tagged_keys_of_one_scope_share_a_slot() {
    for table in tables() {
        let mut slots: HashMap<String, u16> = HashMap::new();
        for def in table.keys.iter().filter(|def| def.is_key()) {
            let Some(scope) = def.scope else { continue };
            if !def.params.iter().any(|param| param.name == scope) {
                continue; // shared by no step: `wk:rooms:due`
            }
            for number in 0..50 {
                let mut values = sample(def, number);
                let one = sample(def, 7).into_iter().find(|(name, _)| *name == scope).unwrap();
                values.iter_mut().find(|(name, _)| *name == scope).unwrap().1.clone_from(&one.1);
                let key = def.render(Layout::Tagged, &borrowed(&values)).unwrap();
                let first = *slots.entry(one.1).or_insert_with(|| key.slot());
                assert_eq!(key.slot(), first, "{key}");
            }
        }
    }
    assert_eq!(slot(b"room:{ABCD1234}:meta"), slot(b"ABCD1234"));
}

#[test]
fn keys_without_scope_are_the_seeds_in_both_layouts() {
    for def in galaxy::keys::KEYS {
        assert!(def.same_in_both(), "{}", def.pattern);
    }
}

#[test]
fn globs_escape_what_they_hold() {
    let glob = |def, values: &[_]| scan_glob(def, Layout::Plain, values).unwrap();
    assert_eq!(glob(&rooms::keys::def::claims, &[]), "room:*:claims");
    assert_eq!(
        glob(&jobs::keys::def::concurrent, &[("ns", "bridge"), ("job_type", "a*[b]?\\")]),
        "bridge:ratelimit:concurrent:a\\*\\[b\\]\\?\\\\"
    );
    assert_eq!(
        scan_glob(&rooms::keys::def::votes, Layout::Tagged, &[("code", "ABCD1234")]).unwrap(),
        "room:{ABCD1234}:votes:*:*"
    );
    assert!(scan_glob(&rooms::keys::def::votes, Layout::Plain, &[("code", "A*")]).is_err());
}

/// A hostile value now and then, else one of its kind.
fn value_of(kind: Kind) -> BoxedStrategy<String> {
    let right = match kind {
        Kind::Uuid => "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        Kind::U8 => "1?[0-9]{1,2}",
        Kind::U32 => "[0-9]{1,10}",
        Kind::I16 => "-?[0-9]{1,5}",
        Kind::Code => "[A-Z0-9]{4,12}",
        Kind::Word => "[A-Za-z0-9_-]{1,8}",
        Kind::Name | Kind::Host => "[A-Za-z0-9._-]{1,8}",
        Kind::Namespace => "bridge|other",
        Kind::JobId | Kind::Path => "[a-z0-9:._-]{1,8}",
        Kind::JobType => "[a-z:*{}\\[ ]{1,8}",
        Kind::Day => "[0-9]{8}",
        Kind::Sha256 => "[0-9a-f]{64}",
    };
    let words = ["active", "heartbeat", "rules", "cd", "all", "meta", "due", "data", "jobs", "x"];
    prop_oneof![
        8 => right,
        1 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9:{}*?\\[\\]\\\\\u{0}\u{7f}é-]{0,6}",
    ]
    .boxed()
}

fn a_key() -> impl Strategy<Value = (usize, Vec<(&'static str, String)>)> {
    let all: Vec<_> = defs().filter(|def| def.is_key()).collect();
    (0..all.len()).prop_flat_map(move |number| {
        let values: Vec<_> = all[number]
            .params
            .iter()
            .map(|param| (Just(param.name), value_of(param.kind)))
            .collect();
        (Just(number), values)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_built_is_classified_back(key in a_key()) {
        let all: Vec<_> = defs().filter(|def| def.is_key()).collect();
        let (def, values) = (all[key.0], borrowed(&key.1));
        let namespaces: Vec<_> = values.iter().filter(|(name, _)| *name == "ns").map(|v| v.1).collect();
        let classifier = Classifier::new(&tables(), &namespaces);
        for layout in Layout::ALL {
            let Ok(built) = def.render(layout, &values) else { continue };
            let found = classifier.classify(built.as_bytes());
            let found = found.unwrap_or_else(|| panic!("{built} of {} has no definition", def.name));
            prop_assert_eq!(found.def, def);
            prop_assert!(found.layout.is_none_or(|told| told == layout));
            // Every value that stands in the key comes back: two different ones never make one key.
            for name in def.pattern(layout).placeholders() {
                let given = values.iter().find(|(param, _)| *param == name).unwrap().1;
                prop_assert_eq!(found.param(name), Some(given));
            }
        }
    }

    #[test]
    fn no_key_panics_the_classifier(key in prop::collection::vec(any::<u8>(), 0..60)) {
        let classifier = Classifier::new(&tables(), &["bridge"]);
        let _ = classifier.classify(&key);
        let _ = classifier.owner_of_prefix(&key);
        let _ = slot(&key);
    }
}

#[test]
fn refusals_name_the_field() {
    let keys = rooms::keys::Keys::new(Layout::Plain);
    let said = |result: Result<_, kernel::keyspace::BadId>| result.unwrap_err().to_string();
    assert_eq!(said(keys.claims("")), "code is empty (key claims)");
    assert_eq!(said(keys.claims("A:BC")), "code holds ':', which it must not (key claims)");
    assert_eq!(said(keys.claims("ABC")), "code must be 4 to 12 of A-Z and 0-9 (key claims)");
    assert_eq!(
        said(keys.votes("ABCD1234", "r1", "i*")),
        "item_id holds '*', which it must not (key votes)"
    );
    let keys = jobs::keys::Keys::new(Layout::Tagged);
    assert_eq!(
        said(keys.worker("bridge", "active")),
        "server_id is \"active\", which is reserved: choose another (key worker)"
    );
    assert!(keys.worker("room", "w1").is_err());
    assert_eq!(keys.waiting("bridge").unwrap().as_str(), "{bridge}:jobs:waiting");
    assert_eq!(keys.waiting("{bridge}").unwrap().as_str(), "{bridge}:jobs:waiting");
}

#[test]
fn builders_write_the_seeds_bytes() {
    let tenant = kernel::keyspace::Uuid::parse_str("11111111-1111-4111-8111-111111111111").unwrap();
    let nil = kernel::keyspace::Uuid::nil();
    let keys = reactors::keys::Keys::new(Layout::Plain);
    assert_eq!(
        keys.cooldown(tenant, 0, 1, 1_000_000, nil, 2001, -231, 253).unwrap().as_str(),
        "reactor:cd:11111111-1111-4111-8111-111111111111:0:1:1000000:\
         00000000-0000-0000-0000-000000000000:2001:-231:253"
    );
    let tagged = reactors::keys::Keys::new(Layout::Tagged);
    assert_eq!(keys.reactor(tenant, 1_000_000_001).unwrap().as_str(), "reactor:1000000001");
    assert_eq!(
        tagged.reactor(tenant, 1_000_000_001).unwrap().as_str(),
        "reactor:{11111111-1111-4111-8111-111111111111}:1000000001"
    );
    assert_eq!(
        tagged.all(tenant).unwrap().as_str(),
        "reactors:all:{11111111-1111-4111-8111-111111111111}"
    );
    let galaxy = galaxy::keys::Keys::new(Layout::Tagged);
    assert_eq!(galaxy.tick().as_str(), "game:tick");
    assert_eq!(galaxy.online_inst("i1").unwrap().as_str(), "{connections:online}:inst:i1");
    assert!(defs().any(|def| def.type_ == Type::Channel));
}

#[test]
fn the_document_is_up_to_date() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/keyspace.md");
    let made = kernel::keyspace::markdown(&tables());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(file, &made).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        kept == made,
        "docs/keyspace.md is old: run `UPDATE_EXPECT=1 cargo test -p worldkeep-cli`"
    );
}

#[test]
fn the_json_form_has_every_key() {
    let rows = serde_json::to_value(kernel::keyspace::rows(&tables())).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), defs().count());
    let claims = rows.as_array().unwrap().iter().find(|row| row["name"] == "claims").unwrap();
    assert_eq!(claims["key"], "room:<code>:claims");
    assert_eq!(claims["tagged"], "room:{<code>}:claims");
    assert_eq!(claims["life"]["kind"], "inherited");
    assert_eq!(claims["secrecy"], "secret");
    assert_eq!(claims["params"][0]["kind"], "code");
}

#[test]
fn ownership_can_be_asked_without_a_server() {
    use galaxy::keys::def;
    let may = |role, def, write| galaxy::keys::TABLE.may(role, def, write);
    assert!(may("physics", &def::ship, true) && !may("api-gateway", &def::ship, true));
    assert!(may("api-gateway", &def::ship, false) && !may("players", &def::ship, false));
    assert!(may("tick-engine", &def::online, false) && !may("tick-engine", &def::online, true));
    assert!(may("game-engine", &def::ship, true) && may("game-engine", &def::tick, true));
    assert!(!may("game-engine", &def::online, true) && !may("stranger", &def::tick, false));
    assert!(rooms::keys::TABLE.may("rooms", &rooms::keys::def::meta, true));
    assert!(!rooms::keys::TABLE.may("jobs", &rooms::keys::def::meta, false));
}
