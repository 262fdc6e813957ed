//! The check on every store, on a small keyspace that has one of everything.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use kernel::check::{Options, Report, Trouble, check};
use kernel::keyspace::{Classifier, Layout, Table};
use kernel::{
    Answer, Cmd, Deadline, Message, Packed, Script, Session, Status, Store, Topic, Value,
};

use testkit::{on_cluster, on_every_store};

use crate::support::{ask, int, text};

mod things {
    use kernel::keyspace::{At, Belongs, Held, Index, Life, Named};

    const fn names(held: Held, complete: Option<&'static [(&'static str, At)]>) -> Index {
        Index { names: "thing", fills: "id", held, named: Named::Live, complete }
    }

    kernel::keyspace! {
        module = "things" by "tenant", about = "Things.", prefixes = &["thing:", "things:"],
        ;
        /// A thing.
        seed thing(tenant: Word, id: U32) = "thing:{tenant}:{id}", Json, Life::None;
        /// All things.
        seed all(tenant: Word) = "things:all:{tenant}", Set, Life::None,
            index = Some(names(Held::Members, Some(&[])));
        /// Things in a field.
        seed map(tenant: Word, map: U32) = "things:map:{tenant}:{map}", Set, Life::None,
            index = Some(names(Held::Members, Some(&[("map", At::Json("/place/map"))])));
        /// Who holds a spot.
        own spots(tenant: Word) = "things:spots:{tenant}", Hash, Life::None,
            index = Some(names(Held::Values, None));
        /// Things by age.
        own ages(tenant: Word) = "things:ages:{tenant}", Zset, Life::None,
            index = Some(names(Held::Members, None));
        /// A thing's rest.
        seed rest(tenant: Word, thing_id: U32, skill: U32)
            = "things:rest:{tenant}:{thing_id}:{skill}", String, Life::Computed("the skill's rest"),
            belongs = Some(Belongs { to: "thing", with: &[("id", "thing_id")], drop: true });
        /// What somebody wrote about a thing.
        seed note(tenant: Word, id: U32) = "things:note:{tenant}:{id}", String, Life::None,
            belongs = Some(Belongs { to: "thing", with: &[], drop: false });
        /// Ids to use again.
        seed free(tenant: Word) = "things:free:{tenant}", List, Life::None,
            index = Some(Index { named: Named::Free, ..names(Held::Members, None) });
        /// The last id.
        seed next(tenant: Word) = "things:next:{tenant}", Int, Life::None;
    }
}

mod ships {
    use kernel::keyspace::{At, Held, Index, Life, Named};

    kernel::keyspace! {
        module = "ships", about = "Ships.", prefixes = &["ship:", "system:"],
        ;
        /// A ship.
        seed ship(id: Word) = "ship:{id}", Hash, Life::None;
        /// Ships of a system.
        seed system(system: Word) = "system:{system}", Set, Life::None,
            index = Some(Index {
                names: "ship", fills: "id", held: Held::Members, named: Named::Live,
                complete: Some(&[("system", At::Field("system_id", "sol"))]),
            });
    }
}

mod rooms {
    use kernel::keyspace::Life;

    kernel::keyspace! {
        module = "rooms" by "code", about = "Rooms.", prefixes = &["room:"],
        ;
        /// Facts.
        seed meta(code: Code) = "room:{code}:meta", Json, Life::Secs(43_200);
        /// Claims.
        seed claims(code: Code) = "room:{code}:claims", Hash, Life::Inherited("meta");
    }
}

mod work {
    use kernel::keyspace::{Held, Index, Life, Named, Placed};

    const JOBS: Option<Index> = Some(Index {
        names: "data",
        fills: "id",
        held: Held::Members,
        named: Named::Live,
        complete: None,
    });

    kernel::keyspace! {
        module = "work" by "ns", about = "Work.",
        ;
        /// A job.
        seed data(ns: Namespace, id: JobId) = "{ns}:data:{id}", Json, Life::Sometimes("after its end");
        /// Its state.
        seed status(ns: Namespace, id: JobId) = "{ns}:status:{id}", String, Life::None,
            placed = &[
                Placed { word: "waiting", in_any: &["waiting", "parked"], entry: "id" },
                Placed { word: "delayed", in_any: &["delayed"], entry: "id" },
            ];
        /// Jobs that wait.
        seed waiting(ns: Namespace) = "{ns}:waiting", List, Life::None, index = JOBS;
        /// Jobs that wait for others.
        own parked(ns: Namespace) = "{ns}:parked", Set, Life::None, index = JOBS;
        /// Jobs for later.
        seed delayed(ns: Namespace) = "{ns}:delayed", Zset, Life::None, index = JOBS;
    }
}

static TABLES: [&Table; 4] = [&things::TABLE, &ships::TABLE, &rooms::TABLE, &work::TABLE];

/// A healthy little world.
const HEALTHY: &[&str] = &[
    r#"SET thing:t:1 {"place":{"map":7}}"#,
    "SADD things:all:t 1",
    "SADD things:map:t:7 1",
    "HSET things:spots:t 0:0 1",
    "ZADD things:ages:t 5 1",
    "SET things:rest:t:1:9 1 PX 60000",
    "SET things:note:t:1 hello",
    "SET things:next:t 1000000001",
    "RPUSH things:free:t 4 5 6 7",
    "HSET ship:a name x",
    "SADD system:sol a",
    "HSET ship:b system_id far",
    "SADD system:far b",
    "SET room:ABCD1234:meta {} EX 40000",
    "HSET room:ABCD1234:claims p d",
    "EXPIRE room:ABCD1234:claims 40000",
    "SET bridge:data:j:1 {}",
    "SET bridge:status:j:1 waiting",
    "RPUSH bridge:waiting j:1",
    "SET bridge:data:j2 {}",
    "SET bridge:status:j2 delayed",
    "ZADD bridge:delayed 5 j2",
    "SET somebody:else 1",
    "SET other:waiting 1",
];

async fn write(store: &dyn Store, lines: &[&str]) {
    for line in lines {
        ask(store, &line.split(' ').collect::<Vec<_>>()).await;
    }
}

/// The healthy world and nothing else.
async fn afresh(store: &dyn Store) {
    let found = ask(store, &["SCAN", "0", "COUNT", "1000"]).await;
    let found = kernel::reply::list(&found).unwrap();
    for key in kernel::reply::list(&found[1]).unwrap() {
        ask(store, &["DEL", kernel::reply::text(key).unwrap()]).await;
    }
    write(store, HEALTHY).await;
}

fn options(repair: bool) -> Options {
    let classifier = Classifier::new(&TABLES, &["bridge"]);
    // A small batch makes every loop turn more than once.
    Options { repair, batch: 3, ..Options::new(classifier, Layout::Plain) }
}

async fn run(store: &dyn Store, repair: bool) -> Report {
    check(store, &options(repair), &mut |_| {}).await.unwrap()
}

fn told(report: &Report) -> Vec<(Trouble, &str, Option<&str>)> {
    let mut told: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.trouble, finding.key.as_str(), finding.entry.as_deref()))
        .collect();
    told.sort_unstable();
    told
}

on_every_store!(a_healthy_store_is_clean_and_foreign_keys_are_no_fault, |store| {
    write(&*store, HEALTHY).await;
    let mut heard = Vec::new();
    let report =
        check(&*store, &options(false), &mut |progress| heard.push(progress)).await.unwrap();
    assert_eq!(told(&report), []);
    assert!(report.is_clean());
    assert_eq!(report.foreign, 2);
    assert_eq!(report.known["things"]["thing"], 1);
    assert_eq!(report.known["work"]["data"], 2);
    assert!(heard.len() > 2 && heard.iter().all(|progress| progress.total == 23));
    assert_eq!(heard.last().unwrap().scanned, report.scanned);
});

/// What is broken, what is found, and whether repair puts it right.
const BROKEN: &[(&str, Trouble, &str, Option<&str>, bool)] = &[
    ("SET things:map:u:1 x", Trouble::WrongType, "things:map:u:1", None, false),
    ("SET things:next:t 5 EX 10", Trouble::WrongLife, "things:next:t", None, false),
    ("PERSIST things:rest:t:1:9", Trouble::WrongLife, "things:rest:t:1:9", None, false),
    ("SET room:WXYZ:meta {} EX 90000", Trouble::WrongLife, "room:WXYZ:meta", None, false),
    ("PERSIST room:ABCD1234:claims", Trouble::WrongLife, "room:ABCD1234:claims", None, true),
    ("EXPIRE room:ABCD1234:claims 41000", Trouble::WrongLife, "room:ABCD1234:claims", None, true),
    ("SET room:WXYZ:meta {x EX 9", Trouble::BadValue, "room:WXYZ:meta", None, false),
    ("SET things:next:t 1.5", Trouble::BadValue, "things:next:t", None, false),
    ("SADD things:all:t 2", Trouble::Dangling, "things:all:t", Some("2"), true),
    ("SADD things:all:t no-id", Trouble::Dangling, "things:all:t", Some("no-id"), true),
    ("SADD things:map:t:9 2", Trouble::Dangling, "things:map:t:9", Some("2"), true),
    ("HSET things:spots:t 3:3 2", Trouble::Dangling, "things:spots:t", Some("2"), true),
    ("ZADD things:ages:t 5 2", Trouble::Dangling, "things:ages:t", Some("2"), true),
    ("RPUSH bridge:waiting j9", Trouble::Dangling, "bridge:waiting", Some("j9"), true),
    ("ZADD bridge:delayed 1 j9", Trouble::Dangling, "bridge:delayed", Some("j9"), true),
    ("RPUSH things:free:t 1", Trouble::InUse, "things:free:t", Some("1"), true),
    ("RPUSH things:free:t 4", Trouble::Twice, "things:free:t", Some("4"), true),
    ("SADD things:map:t:9 1", Trouble::Misplaced, "things:map:t:9", Some("1"), true),
    ("SADD system:sol b", Trouble::Misplaced, "system:sol", Some("b"), true),
    ("SREM things:all:t 1", Trouble::Missing, "thing:t:1", Some("1"), true),
    ("SREM things:map:t:7 1", Trouble::Missing, "thing:t:1", Some("1"), true),
    ("SREM system:sol a", Trouble::Missing, "ship:a", Some("a"), true),
    ("SET things:rest:t:2:9 1 PX 60000", Trouble::Orphan, "things:rest:t:2:9", None, true),
    ("SET things:note:t:2 hello", Trouble::Orphan, "things:note:t:2", None, false),
    ("LREM bridge:waiting 0 j:1", Trouble::Unlisted, "bridge:status:j:1", None, false),
    ("SET bridge:status:j2 waiting", Trouble::Unlisted, "bridge:status:j2", None, false),
    ("SET thing:strange 1", Trouble::Unknown, "thing:strange", None, false),
    ("SET bridge:what 1", Trouble::Unknown, "bridge:what", None, false),
    ("SET things:note:{t}:1 x", Trouble::OtherLayout, "things:note:{t}:1", None, false),
];

on_every_store!(each_trouble_is_found_and_repaired_where_its_relation_says_how, |store| {
    for &(line, trouble, key, entry, repairable) in BROKEN {
        afresh(&*store).await;
        write(&*store, &[line]).await;
        let before = run(&*store, false).await;
        let expected = (trouble, key, entry);
        assert!(told(&before).contains(&expected), "{line}: {:?}", before.findings);
        assert_eq!(before.repaired, 0, "{line}");
        let during = run(&*store, true).await;
        let finding = during.findings.iter().find(|finding| {
            (finding.trouble, finding.key.as_str(), finding.entry.as_deref()) == expected
        });
        assert_eq!(finding.unwrap().repaired, repairable, "{line}");
        let after = run(&*store, false).await;
        assert_eq!(told(&after).contains(&expected), !repairable, "{line}: {:?}", after.findings);
        if repairable {
            assert_eq!(told(&after), [], "{line}: the repair broke something else");
        }
    }
});

on_every_store!(one_fault_is_one_finding, |store| {
    for &(line, ..) in BROKEN.iter().filter(|broken| !broken.0.contains("{t}")) {
        afresh(&*store).await;
        write(&*store, &[line]).await;
        let report = run(&*store, false).await;
        assert_eq!(report.findings.len(), 1, "{line}: {:?}", report.findings);
    }
});

on_every_store!(a_key_that_does_not_say_where_it_belongs_is_a_bad_value, |store| {
    write(&*store, &[r#"SET thing:t:1 {"place":{}}"#, "SADD things:all:t 1"]).await;
    let report = run(&*store, false).await;
    assert_eq!(told(&report), [(Trouble::BadValue, "thing:t:1", None)]);
    assert_eq!(report.findings[0].detail, "does not say /place/map");
});

on_every_store!(findings_past_the_limit_are_counted_only, |store| {
    for id in 0..20 {
        ask(&*store, &["SADD", "things:all:t", &id.to_string()]).await;
    }
    let options = Options { keep: 5, ..options(false) };
    let report = check(&*store, &options, &mut |_| {}).await.unwrap();
    assert_eq!((report.findings.len(), report.left_off), (5, 15));
    assert_eq!(report.troubles[&Trouble::Dangling], 20);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["troubles"]["dangling"], 20);
    assert_eq!(json["findings"][0]["trouble"], "dangling");
});

on_every_store!(a_repair_leaves_alone_what_changed_meanwhile, |store| {
    // A check that judged by a pipeline and then removed would delete the entry of a thing just created.
    write(&*store, &["SADD things:all:t 2", "SADD things:map:t:7 2"]).await;
    let create = r#"SET thing:t:2 {"place":{"map":7}}"#;
    let meddler = Meddler { inner: Arc::clone(&store), line: create };
    let report = run(&meddler, true).await;
    assert!(report.findings.iter().all(|finding| !finding.repaired), "{:?}", report.findings);
    assert_eq!(int(&*store, &["SISMEMBER", "things:all:t", "2"]).await, 1);
    assert_eq!(int(&*store, &["SISMEMBER", "things:map:t:7", "2"]).await, 1);
    assert_eq!(text(&*store, &["GET", "thing:t:2"]).await, r#"{"place":{"map":7}}"#);
    assert_eq!(told(&run(&*store, false).await), []);
});

on_every_store!(a_check_can_run_in_a_task_of_its_own, |store| {
    let task = tokio::spawn(async move { run(&*store, false).await });
    assert!(task.await.unwrap().is_clean());
});

on_cluster!(a_cluster_is_checked_on_every_primary, |store, _cluster| {
    for number in 0..60 {
        let thing = format!("thing:{{t{number}}}:1");
        ask(&*store, &["SET", &thing, r#"{"place":{"map":7}}"#]).await;
        ask(&*store, &["SADD", &format!("things:all:{{t{number}}}"), "1"]).await;
        ask(&*store, &["SADD", &format!("things:map:{{t{number}}}:7"), "1"]).await;
    }
    // A ship and its index are in different slots; a thing and its index share one.
    write(&*store, &["HSET ship:a name x", "SADD system:sol gone", "SADD things:all:{t1} 9"]).await;
    let classifier = Classifier::new(&TABLES, &["bridge"]);
    let mut options = Options { batch: 20, ..Options::new(classifier, Layout::Tagged) };
    let report = check(&*store, &options, &mut |_| {}).await.unwrap();
    assert_eq!(report.known["things"]["thing"], 60);
    assert_eq!(report.known["things"]["map"], 60);
    let wrong = [
        (Trouble::Dangling, "system:sol", Some("gone")),
        (Trouble::Dangling, "things:all:{t1}", Some("9")),
        (Trouble::Missing, "ship:a", Some("a")),
    ];
    assert_eq!(told(&report), wrong);
    options.repair = true;
    let report = check(&*store, &options, &mut |_| {}).await.unwrap();
    assert_eq!((report.repaired, report.is_clean()), (3, true), "{:?}", report.findings);
    assert_eq!(told(&check(&*store, &options, &mut |_| {}).await.unwrap()), []);
});

/// A store on which somebody else writes just before every EXEC.
struct Meddler {
    inner: Arc<dyn Store>,
    line: &'static str,
}

impl Store for Meddler {
    fn call<'a>(&'a self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        self.inner.call(cmd, by)
    }

    fn pipeline<'a>(
        &'a self,
        cmds: &'a [Cmd],
        by: Deadline,
    ) -> Answer<'a, Vec<Result<Value, kernel::Fault>>> {
        self.inner.pipeline(cmds, by)
    }

    fn script<'a>(
        &'a self,
        script: &'static Script,
        keys: &'a [&'a [u8]],
        args: &'a [&'a [u8]],
        by: Deadline,
    ) -> Answer<'a, Value> {
        self.inner.script(script, keys, args, by)
    }

    fn session<'a>(&'a self, key: &'a [u8], by: Deadline) -> Answer<'a, Box<dyn Session>> {
        Answer::Later(Box::pin(async move {
            let own = self.inner.session(key, by).await?;
            let meddling = Meddling { own, inner: Arc::clone(&self.inner), line: self.line };
            Ok(Box::new(meddling) as Box<dyn Session>)
        }))
    }

    fn subscribe<'a>(
        &'a self,
        topics: &'a [Topic],
        by: Deadline,
    ) -> Answer<'a, BoxStream<'static, Message>> {
        self.inner.subscribe(topics, by)
    }

    fn status(&self) -> Status {
        self.inner.status()
    }
}

struct Meddling {
    own: Box<dyn Session>,
    inner: Arc<dyn Store>,
    line: &'static str,
}

impl Session for Meddling {
    fn call<'a>(&'a mut self, cmd: &'a Cmd, by: Deadline) -> Answer<'a, Value> {
        self.own.call(cmd, by)
    }

    fn queue<'a>(&'a mut self, cmds: &'a [&'a Packed], by: Deadline) -> Answer<'a, ()> {
        self.own.queue(cmds, by)
    }

    fn exec(&mut self, by: Deadline) -> Answer<'_, Option<Vec<Value>>> {
        Answer::Later(Box::pin(async move {
            write(&*self.inner, &[self.line]).await;
            self.own.exec(by).await
        }))
    }
}
