//! Figures of the worlds: hits on monsters, against the way of WATCH on the same server; listing; memory; timers; moves
//! of many and who hears them.

mod crowded;
mod moves;
mod steps;
mod timers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::own_redis::OwnRedis;
use super::pace::{Pace, core_time, pace};
use super::{Figure, Tell};
use field::{Field, Tenant};
use kernel::keyspace::Layout;
use kernel::{Clock, Cmd, Deadline, Store, SystemClock, reply};
use monsters::{
    Attack, DamageEntry, Entries, Monster, Monsters, Options, Skills, Spawn, Templates,
};
use testkit::update::{Change, Tries, update_with};

const ATTACKERS: u32 = 64;
const MANY: u32 = 1_000;
/// A monster of the spread runs falls after about thirty hits.
const SMALL: u32 = 1;
const GIANT: u32 = 2;
const PLAIN: u32 = 3;
/// The system counts a thread's time in steps: short work is done so often.
const LOOKS: u32 = 200;
/// Memory is measured over so many.
const COUNT: u32 = 10_000;

const TEMPLATES: &str = r#"{"format":1,"monsters":[
 {"id":1,"name":"falls after thirty hits","hp":300},
 {"id":2,"name":"never falls","hp":4294967295},
 {"id":3,"name":"is only there","hp":15200,"mp":100}]}"#;

/// Everything, told line by line. `seconds` is the length of each run under load.
pub(crate) async fn run(seconds: f64, tell: &mut Tell<'_>) -> Result<(), String> {
    let time = Duration::from_secs_f64(seconds);
    match OwnRedis::start() {
        Some(server) => {
            let store =
                server.open().await.ok_or("the redis-server that was started does not answer")?;
            on_redis(&store, time, tell).await;
            moves::bulk(&store, time, tell).await?;
            moves::listeners(&server, &store, time, tell).await?;
        }
        None => tell(Figure::plain("no redis-server on this machine: runs left out", 0.0, "")),
    }
    embedded(time, tell).await;
    Ok(())
}

fn at() -> (Tenant, Field) {
    let id = "bbbbbbbb-0000-4000-8000-000000000001".parse().unwrap_or_default();
    (Tenant { id, region: "BENCH".into(), major_version: 1, minor_version: 0 }, Field::default())
}

fn world(store: &Arc<dyn Store>, clock: Arc<dyn Clock>) -> Arc<Monsters> {
    let next = AtomicU32::new(1);
    let options = Options {
        layout: Layout::Plain,
        templates: Arc::new(Templates::of(&[("bench", TEMPLATES)]).expect("our own text")),
        skills: Arc::new(Skills::of(&[]).expect("nothing is well formed")),
        dice: Arc::new(move |below| next.fetch_add(7_919, Ordering::Relaxed) % below.max(1)),
        decay: false,
        aggro: true,
    };
    Arc::new(Monsters::new(Arc::clone(store), clock, options))
}

fn attack(character_id: u32, damage: u32) -> Attack {
    Attack { character_id, damages: vec![damage], ..Attack::default() }
}

async fn spawn(monsters: &Monsters, template: u32) -> Monster {
    let (tenant, field) = at();
    let spawn = Spawn { monster_id: template, ..Spawn::default() };
    monsters.spawn(&tenant, field, &spawn).await.expect("the bench's own store takes a monster")
}

async fn empty(store: &Arc<dyn Store>) {
    let by = Deadline::after(Duration::from_secs(10));
    let _ = store.call(Cmd::new().arg("FLUSHALL"), by).await;
}

async fn on_redis(store: &Arc<dyn Store>, time: Duration, tell: &mut Tell<'_>) {
    let hot_watch = hot(store, time, true).await;
    let hot_ours = hot(store, time, false).await;
    tell(Figure::plain("one monster, 64 attackers, Redis, by WATCH", hot_watch.per_s, "hits/s"));
    tell(Figure::plain("one monster, 64 attackers, Redis, Worldkeep", hot_ours.per_s, "hits/s"));
    let ratio = hot_ours.per_s / hot_watch.per_s.max(1.0);
    tell(Figure::at_least("one monster: times the way of WATCH", ratio, "x", 15.0));
    tell(Figure::plain("one monster: p99 by WATCH", hot_watch.p99_ms, "ms"));
    tell(Figure::plain("one monster: p99 Worldkeep", hot_ours.p99_ms, "ms"));
    let part = hot_watch.p99_ms / hot_ours.p99_ms.max(0.001);
    tell(Figure::at_least("one monster: p99 is shorter by", part, "x", 30.0));
    let wide_watch = wide(store, time, true).await;
    let wide_ours = wide(store, time, false).await;
    tell(Figure::plain("1000 monsters, 64 attackers, Redis, by WATCH", wide_watch.per_s, "hits/s"));
    tell(Figure::plain("1000 monsters, 64 attackers, Redis, Worldkeep", wide_ours.per_s, "hits/s"));
    let ratio = wide_ours.per_s / wide_watch.per_s.max(1.0);
    tell(Figure::at_least("1000 monsters: times the way of WATCH", ratio, "x", 1.2));
    crowded::run(store, tell).await;
    memory(store, tell).await;
}

/// One monster, everybody on it.
async fn hot(store: &Arc<dyn Store>, time: Duration, by_watch: bool) -> Pace {
    empty(store).await;
    let monsters = world(store, Arc::new(SystemClock::new()));
    let id = spawn(&monsters, GIANT).await.unique_id;
    let (tenant, _) = at();
    let lost = Arc::new(AtomicU64::new(0));
    let (count, shared) = (Arc::clone(&lost), Arc::clone(&monsters));
    let keeper = Arc::clone(store);
    let run = pace(ATTACKERS, time, move |who, _| {
        let (monsters, store, tenant) = (Arc::clone(&shared), Arc::clone(&keeper), tenant.clone());
        let lost = Arc::clone(&count);
        async move {
            let done = if by_watch {
                watched_hit(&store, &tenant, id, 1 + who, 1).await
            } else {
                monsters.damage(&tenant, id, attack(1 + who, 1)).await.is_ok()
            };
            lost.fetch_add(u64::from(!done), Ordering::Relaxed);
        }
    })
    .await;
    let (tenant, _) = at();
    let taken = monsters.get(&tenant, id).await.map_or(0, |monster| u32::MAX - monster.hp);
    let told = run.calls - lost.load(Ordering::Relaxed);
    assert_eq!(u64::from(taken), told, "hits that were told and hp that are gone differ");
    run
}

/// A thousand monsters, each falling after about thirty hits and spawned again.
async fn wide(store: &Arc<dyn Store>, time: Duration, by_watch: bool) -> Pace {
    empty(store).await;
    let monsters = world(store, Arc::new(SystemClock::new()));
    let mut ids = Vec::new();
    for _ in 0..MANY {
        ids.push(AtomicU32::new(spawn(&monsters, SMALL).await.unique_id));
    }
    let ids = Arc::new(ids);
    let keeper = Arc::clone(store);
    let (tenant, _) = at();
    pace(ATTACKERS, time, move |who, n| {
        let (monsters, store, tenant) =
            (Arc::clone(&monsters), Arc::clone(&keeper), tenant.clone());
        let ids = Arc::clone(&ids);
        async move {
            let slot = &ids[((who * 7_919 + n * 104_729) % MANY) as usize];
            let id = slot.load(Ordering::Relaxed);
            let killed = if by_watch {
                watched_hit(&store, &tenant, id, 1 + who, 10).await;
                false
            } else {
                monsters
                    .damage(&tenant, id, attack(1 + who, 10))
                    .await
                    .is_ok_and(|blow| blow.killed)
            };
            if killed {
                slot.store(spawn(&monsters, SMALL).await.unique_id, Ordering::Relaxed);
            }
        }
    })
    .await
}

/// The way of the seed's other service: WATCH, read, parse, change, encode, MULTI, SET, EXEC, again on a loss.
async fn watched_hit(
    store: &Arc<dyn Store>,
    tenant: &Tenant,
    id: u32,
    who: u32,
    damage: u32,
) -> bool {
    let key = format!("atlas:monster:{}:{id}", tenant.id);
    let tries = Tries { attempts: 1_000, pause_ms: 0..=0 };
    let by = Deadline::after(Duration::from_secs(30));
    let done = update_with(&**store, &key, &tries, by, |text| {
        let Some(mut monster) = text.and_then(|text| Monster::read(&key, text).ok()) else {
            return Change::leave();
        };
        let actual = damage.min(monster.hp);
        // Nothing falls here, so that both ways do the same number of hits: a dead one starts anew.
        if actual == monster.hp && monster.max_hp < 1_000 {
            monster.hp = monster.max_hp;
            monster.damage_entries = Entries::default();
        } else {
            monster.hp -= actual;
        }
        let entry = DamageEntry { character_id: who, damage: actual, last_hit_ms: 0 };
        monster.damage_entries.push(monsters::Element::new(entry));
        if monster.damage_entries.len() > monsters::MOST_ENTRIES {
            let later = monster.damage_entries.iter().skip(monsters::MOST_ENTRIES / 2);
            monster.damage_entries = later.cloned().collect();
        }
        Change::write(monster.text())
    })
    .await;
    done.is_ok()
}

/// Bytes per monster beside those of its bare text and set entry; the bounded stream aside.
#[allow(clippy::cast_precision_loss)]
async fn memory(store: &Arc<dyn Store>, tell: &mut Tell<'_>) {
    let by = || Deadline::after(Duration::from_secs(10));
    let used = || async {
        let info = store.call(Cmd::new().arg("INFO").arg("memory"), by()).await.ok();
        let text = info.as_ref().and_then(reply::text).unwrap_or_default().to_owned();
        let line = text.lines().find_map(|line| line.strip_prefix("used_memory:"));
        line.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let (tenant, field) = at();
    empty(store).await;
    let before = used().await;
    let mut sample = Monster::read("", PATTERN.as_bytes()).expect("our own text");
    for n in 0..COUNT {
        sample.unique_id = 1_000_000_000 + n;
        let key = format!("atlas:monster:{}:{}", tenant.id, sample.unique_id);
        let map = format!("atlas:monster-map:{}:{field}", tenant.id);
        let _ = store.call(Cmd::new().arg("SET").arg(key).arg(sample.text()), by()).await;
        let _ = store.call(Cmd::new().arg("SADD").arg(map).arg(sample.unique_id), by()).await;
    }
    let bare = used().await.saturating_sub(before) as f64 / f64::from(COUNT);
    empty(store).await;
    let before = used().await;
    let monsters = world(store, Arc::new(SystemClock::new()));
    for _ in 0..COUNT {
        spawn(&monsters, PLAIN).await;
    }
    let events = format!("wk:monsters:{}:events", tenant.id);
    let _ = store.call(Cmd::new().arg("DEL").arg(events), by()).await;
    let ours = used().await.saturating_sub(before) as f64 / f64::from(COUNT);
    tell(Figure::plain("memory of a bare monster and its set entry", bare, "bytes"));
    tell(Figure::plain("memory of an unhurt monster, Worldkeep", ours, "bytes"));
    tell(Figure::at_most("memory beside the bare one", ours / bare.max(1.0), "x", 1.1));
}

const PATTERN: &str = r#"{"uniqueId":1000000000,"tenantId":"bbbbbbbb-0000-4000-8000-000000000001","tenantRegion":"BENCH","tenantMajorVersion":1,"tenantMinorVersion":0,"worldId":0,"channelId":0,"mapId":0,"instance":"00000000-0000-0000-0000-000000000000","maxHp":15200,"hp":15200,"maxMp":100,"mp":100,"monsterId":3,"controlCharacterId":0,"x":0,"y":0,"fh":0,"stance":5,"team":0,"damageEntries":[],"statusEffects":[]}"#;

#[allow(clippy::cast_precision_loss)]
async fn embedded(time: Duration, tell: &mut Tell<'_>) {
    let Ok(store) = link::open("memory", link::Options::default()).await else {
        tell(Figure::plain("the engine did not start", 0.0, ""));
        return;
    };
    steps::run(&store, tell).await;
    empty(&store).await;
    let one = one_core(&store, time);
    tell(Figure::at_least("1000 monsters, embedded, one core", one, "hits/s", 100_000.0));
    empty(&store).await;
    let monsters = world(&store, Arc::new(SystemClock::new()));
    let start = core_time();
    for _ in 0..MANY {
        spawn(&monsters, PLAIN).await;
    }
    let passed = since(start).as_secs_f64();
    tell(Figure::plain("spawn, embedded, one core", f64::from(MANY) / passed, "per s"));
    let (tenant, field) = at();
    let start = core_time();
    for _ in 0..LOOKS {
        let listed = monsters.list(&tenant, field).await.map_or(0, |listed| listed.monsters.len());
        assert_eq!(listed, MANY as usize, "all of them are listed");
    }
    let each = since(start).as_secs_f64() * 1000.0 / f64::from(LOOKS);
    tell(Figure::at_most("list a field of 1000, embedded", each, "ms", 5.0));
    timers::run(&store, tell).await;
}

fn since(start: Duration) -> Duration {
    core_time().saturating_sub(start)
}

/// One thread, one caller, a thousand monsters in turn.
#[allow(clippy::cast_precision_loss)]
fn one_core(store: &Arc<dyn Store>, time: Duration) -> f64 {
    let store = Arc::clone(store);
    let work = async move {
        let monsters = world(&store, Arc::new(SystemClock::new()));
        let mut ids = Vec::new();
        for _ in 0..MANY {
            ids.push(spawn(&monsters, SMALL).await.unique_id);
        }
        let (tenant, _) = at();
        let (mut hits, mut kills) = (0_u64, 0_u64);
        let start = core_time();
        let until = Instant::now() + time.max(Duration::from_secs(1)) * 20;
        loop {
            for (at, id) in ids.iter_mut().enumerate() {
                let who = 1 + u32::try_from(at).unwrap_or(0) % ATTACKERS;
                let blow = monsters.damage(&tenant, *id, attack(who, 10)).await;
                hits += 1;
                if blow.is_ok_and(|blow| blow.killed) {
                    kills += 1;
                    *id = spawn(&monsters, SMALL).await.unique_id;
                }
            }
            if since(start) >= time || Instant::now() > until {
                break;
            }
        }
        assert!(kills > 0 || hits < 40_000, "monsters fall in this run");
        hits as f64 / since(start).as_secs_f64()
    };
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_or(0.0, |runtime| runtime.block_on(work))
    });
    thread.join().unwrap_or(0.0)
}
