//! The check with the modules' own tables, on values as the seeds and specs show them: a world that is in
//! order is clean in both layouts, and each relation of a module is seen when it breaks.

#![allow(clippy::unwrap_used)]

use kernel::check::{Options, Report, Trouble, check};
use kernel::keyspace::{Classifier, Key, Layout, Uuid};
use kernel::{Cmd, Deadline, Store};
use testkit::on_every_store;

const REACTOR: &str = r#"{"tenant":{"id":"11111111-1111-4111-8111-111111111111","region":"GMS","majorVersion":83,"minorVersion":1},"id":1000000001,"worldId":0,"channelId":1,"mapId":1000000,"instance":"00000000-0000-0000-0000-000000000000","classification":2001,"name":"box","data":{"name":"","tl":{"x":0,"y":0},"br":{"x":0,"y":0},"stateInfo":null,"timeoutInfo":null},"state":0,"eventState":0,"delay":5000,"direction":0,"x":231,"y":253,"updateTime":"2026-02-21T10:11:12.5Z"}"#;
const MONSTER: &str = r#"{"uniqueId":1000000000,"tenantId":"11111111-1111-4111-8111-111111111111","tenantRegion":"GMS","tenantMajorVersion":83,"tenantMinorVersion":1,"worldId":0,"channelId":0,"mapId":40000,"instance":"00000000-0000-0000-0000-000000000000","maxHp":100,"hp":100,"maxMp":50,"mp":50,"monsterId":9300018,"controlCharacterId":0,"x":0,"y":0,"fh":0,"stance":5,"team":0,"damageEntries":[],"statusEffects":[]}"#;
const JOB: &str = r#"{"jobId":"86fc0e88-c832-4c43-b5a5-5ef9f808fc97","type":"email","payload":{"to":"a@b.c"},"schedule":{},"retry":{"attempts":3,"backoff":{"type":"exponential","delay":2000}},"priority":5,"dependsOn":[],"target":{},"metadata":{},"createdAt":1794768259299,"attempts":0}"#;
const JOB_ID: &str = "86fc0e88-c832-4c43-b5a5-5ef9f808fc97";

const TIMER: &str = r#"{"tenantId":"11111111-1111-4111-8111-111111111111","uniqueId":1000000000,"monsterId":9300018,"field":{"worldId":0,"channelId":0,"mapId":40000,"instance":"00000000-0000-0000-0000-000000000000"},"dropPeriod":5000}"#;
const META: &str = r#"{"code":"ABCD1234","created_at":1794768259299,"expires_at":1794811459299,"phase":"lobby","version":1,"master_key_hash":"sha256:0"}"#;
const ROUND: &str = r#"{"round_id":"r1","created_at":1794768259299,"items":[]}"#;

/// The builders of all modules in one layout.
struct All {
    layout: Layout,
    reactors: reactors::keys::Keys,
    monsters: monsters::keys::Keys,
    galaxy: galaxy::keys::Keys,
    rooms: rooms::keys::Keys,
    jobs: jobs::keys::Keys,
    tenant: Uuid,
    ship: Uuid,
}

impl All {
    fn new(layout: Layout) -> All {
        All {
            layout,
            reactors: reactors::keys::Keys::new(layout),
            monsters: monsters::keys::Keys::new(layout),
            galaxy: galaxy::keys::Keys::new(layout),
            rooms: rooms::keys::Keys::new(layout),
            jobs: jobs::keys::Keys::new(layout),
            tenant: Uuid::parse_str("11111111-1111-4111-8111-111111111111").unwrap(),
            ship: Uuid::parse_str("550e8400-e29b-41d4-a716-446655440000").unwrap(),
        }
    }

    fn reactor_map(&self) -> Key {
        self.reactors.map(self.tenant, 0, 1, 1_000_000, Uuid::nil()).unwrap()
    }

    fn monster_map(&self) -> Key {
        self.monsters.map(self.tenant, 0, 0, 40_000, Uuid::nil()).unwrap()
    }

    /// One of everything that relations are about, in order.
    async fn fill(&self, store: &dyn Store) {
        let (ship, tenant) = (self.ship.to_string(), self.tenant);
        let rule = Uuid::nil().to_string();
        let ns = "bridge";
        let far = "43000";
        let steps: Vec<(&str, Key, Vec<&str>)> = vec![
            ("SET", self.reactors.next_id(tenant).unwrap(), vec!["1000000001"]),
            ("SET", self.reactors.reactor(tenant, 1_000_000_001).unwrap(), vec![REACTOR]),
            ("SADD", self.reactors.all(tenant).unwrap(), vec!["1000000001"]),
            ("SADD", self.reactor_map(), vec!["1000000001"]),
            (
                "SET",
                self.reactors.cooldown(tenant, 0, 1, 5, Uuid::nil(), 2001, -231, 253).unwrap(),
                vec!["1", "PX", "60000"],
            ),
            ("SET", self.monsters.monster(tenant, 1_000_000_000).unwrap(), vec![MONSTER]),
            ("SADD", self.monster_map(), vec!["1000000000"]),
            ("SET", self.monsters.ids_next(tenant).unwrap(), vec!["1000000002"]),
            ("LPUSH", self.monsters.ids_free(tenant).unwrap(), vec!["1000000001", "1000000002"]),
            (
                "SET",
                self.monsters.cooldown(tenant, 1_000_000_000, 100).unwrap(),
                vec!["1", "PX", "60000"],
            ),
            ("SET", self.monsters.drop_timer(tenant, 1_000_000_000).unwrap(), vec![TIMER]),
            ("HSET", self.galaxy.ship(self.ship).unwrap(), vec!["name", "PlayerOne"]),
            ("SADD", self.galaxy.system_ships("sol").unwrap(), vec![&ship]),
            ("HSET", self.galaxy.body("Earth").unwrap(), vec!["system_id", "sol"]),
            ("SADD", self.galaxy.system_bodies("sol").unwrap(), vec!["Earth"]),
            ("SADD", self.galaxy.rules(self.ship).unwrap(), vec![&rule]),
            ("HSET", self.galaxy.rule(self.ship, Uuid::nil()).unwrap(), vec!["name", "r"]),
            ("SET", self.galaxy.tick(), vec!["123456"]),
            ("SADD", self.galaxy.online(), vec![&rule]),
            ("HSET", self.galaxy.online_count(), vec![&rule, "1"]),
            ("SET", self.rooms.meta("ABCD1234").unwrap(), vec![META, "EX", far]),
            ("SET", self.rooms.round("ABCD1234", "r1").unwrap(), vec![ROUND, "EX", far]),
            ("SET", self.jobs.data(ns, JOB_ID).unwrap(), vec![JOB]),
            ("SET", self.jobs.status(ns, JOB_ID).unwrap(), vec!["waiting"]),
            ("RPUSH", self.jobs.waiting(ns).unwrap(), vec![JOB_ID]),
            ("SET", self.jobs.worker(ns, "w1").unwrap(), vec!["{}"]),
            ("SADD", self.jobs.workers_active(ns).unwrap(), vec!["w1"]),
            ("SET", self.jobs.heartbeat(ns, "w1").unwrap(), vec!["1732376323000", "EX", "30"]),
        ];
        for (name, key, args) in steps {
            run(store, name, &key, &args).await;
        }
    }

    async fn check(&self, store: &dyn Store) -> Report {
        self.look(store, false).await
    }

    async fn look(&self, store: &dyn Store, repair: bool) -> Report {
        let classifier = Classifier::new(&server::modules::tables(), &["bridge"]);
        let options = Options { repair, ..Options::new(classifier, self.layout) };
        check(store, &options, &mut |_| {}).await.unwrap()
    }
}

async fn run(store: &dyn Store, name: &str, key: &Key, args: &[&str]) {
    let mut cmd = Cmd::new();
    cmd.arg(name).arg(key).arg(args);
    store.call(&cmd, Deadline::after(std::time::Duration::from_secs(10))).await.unwrap();
}

async fn flush(store: &dyn Store) {
    let by = Deadline::after(std::time::Duration::from_secs(10));
    store.call(Cmd::new().arg("FLUSHALL"), by).await.unwrap();
}

on_every_store!(a_world_in_order_is_clean_in_both_layouts, |store| {
    for layout in Layout::ALL {
        let all = All::new(layout);
        all.fill(&*store).await;
        let report = all.check(&*store).await;
        // The keys of the first layout are still there when the second one is looked at.
        let wrong: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.trouble != Trouble::OtherLayout)
            .collect();
        assert!(wrong.is_empty(), "{layout}: {wrong:?}");
        assert_eq!(report.foreign, 0);
        let known: u64 = report.known.values().flat_map(|names| names.values()).sum();
        assert_eq!(known, report.scanned);
    }
});

on_every_store!(each_broken_relation_of_a_module_is_seen, |store| {
    let all = All::new(Layout::Plain);
    all.fill(&*store).await;
    let s = &*store;
    run(s, "SREM", &all.reactor_map(), &["1000000001"]).await;
    run(s, "SADD", &all.reactors.all(all.tenant).unwrap(), &["1000000009"]).await;
    let elsewhere = all.monsters.map(all.tenant, 0, 0, 7, Uuid::nil()).unwrap();
    run(s, "SADD", &elsewhere, &["1000000000"]).await;
    run(s, "LPUSH", &all.monsters.ids_free(all.tenant).unwrap(), &["1000000000"]).await;
    run(s, "DEL", &all.galaxy.ship(all.ship).unwrap(), &[]).await;
    run(s, "PERSIST", &all.rooms.round("ABCD1234", "r1").unwrap(), &[]).await;
    run(s, "SET", &all.jobs.status("bridge", JOB_ID).unwrap(), &["delayed"]).await;
    run(s, "SREM", &all.jobs.workers_active("bridge").unwrap(), &["w1"]).await;
    let report = all.check(s).await;
    let mut told: Vec<_> =
        report.findings.iter().map(|finding| (finding.trouble, finding.name.unwrap())).collect();
    told.sort_unstable();
    let expected = [
        (Trouble::WrongLife, "round"),
        (Trouble::Dangling, "all"),
        (Trouble::Dangling, "system_ships"),
        (Trouble::InUse, "ids_free"),
        (Trouble::Misplaced, "map"),
        (Trouble::Missing, "reactor"),
        (Trouble::Missing, "worker"),
        (Trouble::Orphan, "rule"),
        (Trouble::Orphan, "rules"),
        (Trouble::Unlisted, "status"),
    ];
    assert_eq!(told, expected, "{:?}", report.findings);
});

on_every_store!(what_a_module_cannot_read_is_found_and_its_remedy_named, |store| {
    let all = All::new(Layout::Plain);
    all.fill(&*store).await;
    let s = &*store;
    // Good JSON all of them, and no reader takes it.
    let weak = MONSTER.replace("\"hp\":100", "\"hp\":-5");
    run(s, "SET", &all.monsters.monster(all.tenant, 1_000_000_000).unwrap(), &[&weak]).await;
    let timer = TIMER.replace("5000", "\"soon\"");
    run(s, "SET", &all.monsters.drop_timer(all.tenant, 1_000_000_000).unwrap(), &[&timer]).await;
    let meta = META.replace("lobby", "nowhere");
    run(s, "SET", &all.rooms.meta("ABCD1234").unwrap(), &[&meta, "KEEPTTL"]).await;
    run(s, "SET", &all.rooms.round("ABCD1234", "r1").unwrap(), &["{}", "KEEPTTL"]).await;
    let told = |report: &Report| {
        let mut told: Vec<_> = report
            .findings
            .iter()
            .map(|one| (one.trouble, one.name.unwrap(), one.remedy.clone().unwrap_or_default()))
            .collect();
        told.sort_unstable();
        told
    };
    let monster = format!("worldkeep monsters destroy 1000000000 --tenant {}", all.tenant);
    let timer = format!("redis-cli DEL 'atlas:drop-timer:{}:1000000000'", all.tenant);
    let close = "worldkeep rooms close ABCD1234";
    let expected = [
        (Trouble::BadValue, "drop_timer", timer),
        (Trouble::BadValue, "meta", close.to_owned()),
        (Trouble::BadValue, "monster", monster),
        (Trouble::BadValue, "round", close.to_owned()),
    ];
    assert_eq!(told(&all.check(s).await), expected);
    let left = all.look(s, true).await;
    let is_repaired = |name: &str| {
        left.findings.iter().filter(|one| one.name == Some(name)).all(|one| one.repaired)
    };
    assert!(is_repaired("monster"), "{:?}", left.findings);
    assert!(!is_repaired("meta") && !is_repaired("round"), "they are left, and named");
    // With the monster all goes that names it.
    let again = all.look(s, true).await;
    assert!(all.check(s).await.findings.iter().all(|one| one.module == "rooms"), "{again:?}");
});

on_every_store!(a_cooldown_that_never_ends_is_removed_by_a_repair, |store| {
    let all = All::new(Layout::Plain);
    all.fill(&*store).await;
    let s = &*store;
    let key = all.monsters.cooldown(all.tenant, 1_000_000_000, 9).unwrap();
    run(s, "SET", &key, &["1"]).await;
    let found = all.check(s).await;
    assert_eq!(found.findings_total(), 1, "{:?}", found.findings);
    assert_eq!(found.findings[0].trouble, Trouble::WrongLife);
    let report = all.look(s, true).await;
    assert_eq!((report.is_clean(), report.repaired), (true, 1), "{:?}", report.findings);
    assert_eq!(all.check(s).await.findings_total(), 0);
});

on_every_store!(a_reactor_that_nobody_can_read_is_removed_by_a_repair, |store| {
    for layout in Layout::ALL {
        let all = All::new(layout);
        let s = &*store;
        for bad in [Some("not json"), Some("{}"), None] {
            flush(s).await;
            all.fill(s).await;
            let key = all.reactors.reactor(all.tenant, 1_000_000_001).unwrap();
            run(s, "HSET", &all.reactors.spots(all.tenant).unwrap(), &["spot", "1000000001"]).await;
            run(s, "DEL", &key, &[]).await;
            match bad {
                Some(text) => run(s, "SET", &key, &[text]).await,
                None => run(s, "LPUSH", &key, &["x"]).await,
            }
            let found = all.check(s).await;
            assert_eq!(found.findings_total(), 1, "{layout} {bad:?}: {:?}", found.findings);
            let report = all.look(s, true).await;
            assert!(report.is_clean(), "{layout} {bad:?}: {:?}", report.findings);
            // With all that listed it: the field, the tenant's ids, the spot.
            assert_eq!(report.repaired, 4, "{layout} {bad:?}: {:?}", report.findings);
            assert_eq!(all.check(s).await.findings_total(), 0);
        }
    }
});
