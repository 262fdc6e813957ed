//! Short words for what every test does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use field::{Field, Tenant};
use kernel::keyspace::Layout;
use kernel::{Clock as _, Cmd, Deadline, FakeClock, Store, Value, Verdict, reply};
use monsters::{
    Attack, Blow, Dice, Monster, Monsters, Options, SHIPPED_SKILLS, Skills, Spawn, Templates,
};

pub(crate) const TENANT: &str = "11111111-1111-4111-8111-111111111111";
pub(crate) const NIL: &str = "00000000-0000-0000-0000-000000000000";
pub(crate) const START: u64 = 1_700_000_000_000;

const TEMPLATES: &str = r#"{"format":1,"monsters":[
 {"id":9300018,"name":"dummy","hp":100,"mp":50},
 {"id":2,"name":"giant","hp":4000000000,"mp":1000,"skills":[{"id":200,"level":1}]},
 {"id":3,"name":"healer","hp":1000,"mp":100,"hpRecovery":40,"mpRecovery":10,
  "skills":[{"id":114,"level":1},{"id":100,"level":1},{"id":110,"level":1},{"id":143,"level":1},
            {"id":121,"level":1},{"id":120,"level":1},{"id":127,"level":1},{"id":140,"level":1}],
  "attacks":[{"position":1,"mpCost":60,"cooldownMs":2000}]},
 {"id":4,"name":"boss","hp":15200,"mp":100,"boss":true,"banish":{"mapId":7,"portal":"sp"},
  "skills":[{"id":129,"level":1}]},
 {"id":5,"name":"twin","hp":10,"revives":[6,6]},
 {"id":6,"name":"half","hp":5},
 {"id":7,"name":"fawn","hp":500,"friendly":true,"dropPeriod":9000,"weaponAttack":3,
  "drops":[{"itemId":0,"minimum":5,"maximum":9,"chance":999999},
           {"itemId":44,"minimum":1,"maximum":1,"chance":999999},
           {"itemId":45,"minimum":1,"maximum":1,"chance":999999,"questId":1}]},
 {"id":8,"name":"resists","hp":15200,"resistances":{"P":"1","I":"1"}},
 {"id":9,"name":"slow","hp":1000,"mp":100,"skills":[{"id":100,"level":1}],"animationTimes":{"skill1":700}}
]}"#;

/// A world on one store, with time in the test's hands.
pub(crate) struct World {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: FakeClock,
    pub(crate) monsters: Arc<Monsters>,
    pub(crate) tenant: Tenant,
    pub(crate) field: Field,
    pub(crate) layout: Layout,
}

pub(crate) fn tenant() -> Tenant {
    let id = TENANT.parse().unwrap();
    Tenant { id, region: "GMS".into(), major_version: 83, minor_version: 1 }
}

/// Zero for everything: the first of all, the least of each.
pub(crate) fn low() -> Dice {
    Arc::new(|_| 0)
}

/// Counts up: no two ids alike.
pub(crate) fn counting() -> Dice {
    let next = AtomicU32::new(1);
    Arc::new(move |below| next.fetch_add(7_919, Ordering::Relaxed) % below)
}

pub(crate) fn options(layout: Layout) -> Options {
    Options {
        layout,
        templates: Arc::new(Templates::of(&[("test.json", TEMPLATES)]).unwrap()),
        skills: Arc::new(Skills::of(SHIPPED_SKILLS).unwrap()),
        dice: counting(),
        decay: false,
        aggro: true,
    }
}

impl World {
    pub(crate) fn new(store: &Arc<dyn Store>) -> World {
        World::with(store, Layout::Plain, |_| {})
    }

    pub(crate) fn with(
        store: &Arc<dyn Store>,
        layout: Layout,
        change: impl FnOnce(&mut Options),
    ) -> World {
        let clock = FakeClock::at(START);
        let mut options = options(layout);
        change(&mut options);
        let monsters = Monsters::new(Arc::clone(store), Arc::new(clock.clone()), options);
        World {
            store: Arc::clone(store),
            clock,
            monsters: Arc::new(monsters),
            tenant: tenant(),
            field: Field { map_id: 40_000, ..Field::default() },
            layout,
        }
    }

    /// Another server on the same store and clock.
    pub(crate) fn second(&self) -> World {
        let options = options(self.layout);
        let monsters =
            Monsters::new(Arc::clone(&self.store), Arc::new(self.clock.clone()), options);
        World {
            store: Arc::clone(&self.store),
            clock: self.clock.clone(),
            monsters: Arc::new(monsters),
            tenant: self.tenant.clone(),
            field: self.field,
            layout: self.layout,
        }
    }

    pub(crate) async fn spawn(&self, monster_id: u32) -> u32 {
        let spawn = Spawn { monster_id, ..Spawn::default() };
        self.monsters.spawn(&self.tenant, self.field, &spawn).await.unwrap().unique_id
    }

    pub(crate) async fn hit(&self, id: u32, character: u32, damage: u32) -> Blow {
        self.monsters.damage(&self.tenant, id, attack(character, &[damage])).await.unwrap()
    }

    pub(crate) async fn get(&self, id: u32) -> Monster {
        self.monsters.get(&self.tenant, id).await.unwrap()
    }

    /// Time passes, and what became due is done.
    pub(crate) async fn pass(&self, ms: u64) {
        self.clock.advance(Duration::from_millis(ms));
        self.serve().await;
    }

    /// Does all timers that are due, as the loop does.
    pub(crate) async fn serve(&self) -> usize {
        let timers = self.monsters.timers();
        let mut count = 0;
        loop {
            let due = timers.take(TENANT, soon()).await.unwrap();
            if due.is_empty() {
                return count;
            }
            for timer in due {
                let verdict = self.monsters.act(&timer).await;
                assert_ne!(verdict, Verdict::Failed, "{timer:?}");
                timers.settle(&timer, verdict, soon()).await.unwrap();
                count += 1;
            }
        }
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

    /// The stored text of a monster.
    pub(crate) async fn stored(&self, id: u32) -> String {
        self.text(&["GET", &self.key(id)]).await
    }

    pub(crate) fn key(&self, id: u32) -> String {
        format!("atlas:monster:{}:{id}", self.scope())
    }

    pub(crate) fn scope(&self) -> String {
        match self.layout {
            Layout::Plain => TENANT.to_owned(),
            Layout::Tagged => format!("{{{TENANT}}}"),
        }
    }

    pub(crate) fn own(&self, what: &str) -> String {
        format!("wk:monsters:{}:{what}", self.scope())
    }

    /// Type, id and body of every event so far.
    pub(crate) async fn events(&self) -> Vec<(String, String, serde_json::Value)> {
        let answer = self.ask(&["XRANGE", &self.own("events"), "-", "+"]).await;
        let entry = |entry: &Value| {
            let parts = reply::list(entry)?;
            let pairs = reply::pairs(&parts[1])?;
            let of = |name: &str| {
                pairs
                    .iter()
                    .find(|(n, _)| reply::text(n) == Some(name))
                    .and_then(|(_, v)| reply::text(v))
            };
            let body = serde_json::from_str(of("body")?).expect("a body is JSON");
            Some((of("type")?.to_owned(), of("id")?.to_owned(), body))
        };
        reply::list(&answer).unwrap().iter().map(|e| entry(e).unwrap()).collect()
    }

    /// The words of all events so far.
    pub(crate) async fn told(&self) -> Vec<String> {
        self.events().await.into_iter().map(|(kind, _, _)| kind).collect()
    }

    pub(crate) fn now(&self) -> u64 {
        self.clock.now_ms()
    }
}

pub(crate) fn attack(character_id: u32, damages: &[u32]) -> Attack {
    Attack { character_id, damages: damages.to_vec(), ..Attack::default() }
}

pub(crate) fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(10))
}
