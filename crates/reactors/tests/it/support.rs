//! A world of one's own: a store, a clock that stands still, two tenants, and short words to look around.

use std::sync::Arc;
use std::time::Duration;

use field::{Field, Tenant};
use kernel::check::{Options, check};
use kernel::keyspace::{Classifier, Layout};
use kernel::{Cmd, Deadline, FakeClock, Store, Value, reply};
use reactors::{Created, Data, New, Reactor, Reactors, SHIPPED, Templates};
use uuid::Uuid;

/// Defines a test that runs on every store with plain keys, and on a Cluster with tagged ones.
macro_rules! everywhere {
    ($name:ident, |$world:ident| $body:block) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            testkit::on_every_store!(plain, |store| {
                let $world = crate::support::World::new(store, kernel::keyspace::Layout::Plain);
                $body
            });

            testkit::on_cluster!(tagged, |store, cluster| {
                let _ = &cluster;
                let $world = crate::support::World::new(store, kernel::keyspace::Layout::Tagged);
                $body
            });
        }
    };
}
pub(crate) use everywhere;

pub(crate) const NOW: u64 = 1_771_668_672_500;
pub(crate) const ONE: Uuid = Uuid::from_u128(0x1111_1111_1111_4111_8111_1111_1111_1111);
pub(crate) const TWO: Uuid = Uuid::from_u128(0x2222_2222_2222_4222_8222_2222_2222_2222);

pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: FakeClock,
    pub(crate) reactors: Reactors,
    pub(crate) layout: Layout,
}

pub(crate) fn tenant(id: Uuid) -> Tenant {
    Tenant { id, region: "GMS".into(), major_version: 83, minor_version: 1 }
}

pub(crate) fn field(map_id: u32) -> Field {
    Field { world_id: 0, channel_id: 1, map_id, instance: Uuid::nil() }
}

/// The box of the specification's example.
pub(crate) fn a_box() -> New {
    New {
        field: field(1_000_000),
        classification: 2001,
        x: 231,
        y: 253,
        delay: 5_000,
        guarded: true,
        ..New::default()
    }
}

#[allow(clippy::unnecessary_wraps)] // as `New` takes it
pub(crate) fn data(text: &str) -> Option<Data> {
    Some(serde_json::from_str(text).unwrap())
}

pub(crate) fn made(created: Created) -> Reactor {
    match created {
        Created::Made(reactor) => *reactor,
        other => panic!("not made: {other:?}"),
    }
}

pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}

impl World {
    pub(crate) fn new(store: Arc<dyn Store>, layout: Layout) -> Self {
        let clock = FakeClock::at(NOW);
        let reactors = reactors_on(&store, &clock, layout);
        World { store, clock, reactors, layout }
    }

    pub(crate) async fn create(&self, new: New) -> Reactor {
        made(self.reactors.create(&tenant(ONE), new).await.unwrap())
    }

    pub(crate) async fn ask(&self, words: &[&str]) -> Value {
        let mut cmd = Cmd::new();
        for word in words {
            cmd.arg(*word);
        }
        testkit::call_as_default(&*self.store, &cmd, soon()).await.unwrap()
    }

    pub(crate) async fn text(&self, words: &[&str]) -> String {
        reply::text(&self.ask(words).await).unwrap_or_default().to_owned()
    }

    pub(crate) async fn int(&self, words: &[&str]) -> i64 {
        reply::int(&self.ask(words).await).unwrap()
    }

    /// The plain key, or the same with its tenant's tag.
    pub(crate) fn key(&self, plain: &str) -> String {
        if self.layout == Layout::Plain {
            return plain.to_owned();
        }
        let tag = format!("{{{ONE}}}");
        match plain {
            "reactors:all" | "reactors:next_id" => format!("{plain}:{tag}"),
            _ if plain.contains(&ONE.to_string()) => plain.replace(&ONE.to_string(), &tag),
            _ => plain.replace("reactor:", &format!("reactor:{tag}:")),
        }
    }

    /// Types of the events of a tenant, oldest first.
    pub(crate) async fn told(&self) -> Vec<String> {
        self.events().await.into_iter().map(|(kind, _)| kind).collect()
    }

    /// Events of tenant one: type and message.
    pub(crate) async fn events(&self) -> Vec<(String, serde_json::Value)> {
        let stream = self.key(&format!("wk:reactors:{ONE}:events"));
        let answer = self.ask(&["XRANGE", &stream, "-", "+"]).await;
        let mut all = Vec::new();
        for entry in reply::list(&answer).unwrap() {
            let fields = reply::pairs(&reply::list(entry).unwrap()[1]).unwrap();
            let get = |name: &str| {
                let found = fields.iter().find(|(known, _)| reply::text(known) == Some(name));
                reply::text(found.unwrap().1).unwrap().to_owned()
            };
            all.push((get("type"), serde_json::from_str(&get("body")).unwrap()));
        }
        all
    }

    /// The consistency check finds nothing.
    pub(crate) async fn is_clean(&self) {
        let none: [&str; 0] = [];
        let classifier = Classifier::new(&[&reactors::keys::TABLE], &none);
        let options = Options::new(classifier, self.layout);
        let report = check(&*self.store, &options, &mut |_| {}).await.unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

pub(crate) fn reactors_on(store: &Arc<dyn Store>, clock: &FakeClock, layout: Layout) -> Reactors {
    let templates = Arc::new(Templates::of(SHIPPED).unwrap());
    Reactors::new(store.clone(), Arc::new(clock.clone()), layout, templates)
}
