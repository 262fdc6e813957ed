//! The keyspace of a running server: which definition a live key has, who may see it, how many there are.
//! Counting walks the store with SCAN in the background, at most one walk at a time, and keeps the last result.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::keyspace::{Classified, Classifier, KeyDef, Layout, Life, Type};
use kernel::{Clock, Deadline, Fault, Said, Store};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::caller::Caller;
use crate::said;
use crate::settings::Settings;
use crate::wire;

/// Keys of one definition that are weighed; the rest are taken to weigh as much on average.
const SAMPLES: usize = 16;
/// A finished count is good for this long, and for twenty times as long as it took.
const FRESH: Duration = Duration::from_secs(10);

/// How long a reader waits for a new count while there is an older one.
const PATIENCE: Duration = Duration::from_millis(40);
/// How long a reader waits for the first count; pages are asked for each second and must not take 200 ms.
const FIRST_PATIENCE: Duration = Duration::from_millis(120);

/// Definitions, layout and counts.
pub struct Keyspace {
    /// Finds definitions.
    pub classifier: Classifier,
    /// How this server spells keys.
    pub layout: Layout,
    count: Mutex<Counting>,
    changed: Notify,
}

#[derive(Default)]
struct Counting {
    running: bool,
    last: Arc<Census>,
    took: Duration,
    finished: Option<Instant>,
}

/// How many keys there are, by definition.
#[derive(Debug, Clone, Default)]
pub struct Census {
    /// Unix milliseconds at which it was finished, or begun when not done.
    pub at: u64,
    /// Whether all keys were seen.
    pub done: bool,
    /// All keys seen.
    pub total: u64,
    /// `DBSIZE` at the start, to show how far it is.
    pub expected: u64,
    /// By module and name.
    pub by_def: HashMap<(&'static str, &'static str), Count>,
    /// Keys under our prefixes without a definition, by module.
    pub unknown: HashMap<&'static str, Count>,
    /// Keys of others.
    pub foreign: Count,
}

/// Keys and their weight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Count {
    /// How many.
    pub keys: u64,
    weighed: u64,
    bytes: u64,
}

impl Count {
    /// Bytes of all, judged by those weighed; `None` when none was.
    pub fn memory(&self) -> Option<u64> {
        if self.keys == 0 {
            return Some(0);
        }
        (self.weighed > 0).then(|| {
            let whole = u128::from(self.bytes) * u128::from(self.keys) / u128::from(self.weighed);
            u64::try_from(whole).unwrap_or(u64::MAX)
        })
    }
}

impl Keyspace {
    /// From the settings.
    pub fn new(settings: &Settings) -> Self {
        Keyspace {
            classifier: Classifier::new(&crate::modules::tables(), &settings.jobs.namespaces),
            layout: settings.server.layout,
            count: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// The definition by module and name.
    pub fn def(&self, module: &str, name: &str) -> Option<&'static KeyDef> {
        self.classifier.tables().iter().find(|table| table.module == module)?.def(name)
    }

    /// The last count. Starts a new one when it is old, and waits a moment for it: less where there is an older one to show.
    pub async fn census(
        self: &Arc<Self>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Census> {
        let (start, patience) = {
            let mut count = self.count.lock();
            let fresh = FRESH.max(count.took * 20);
            let old = count.finished.is_none_or(|at| at.elapsed() > fresh);
            let start = old && !count.running;
            count.running |= start;
            (start, if count.last.done { PATIENCE } else { FIRST_PATIENCE })
        };
        if start {
            let this = Arc::clone(self);
            tokio::spawn(async move { this.run(&*store, &*clock).await });
        }
        let until = Instant::now() + patience;
        loop {
            let changed = self.changed.notified();
            let now = {
                let count = self.count.lock();
                (!count.running).then(|| Arc::clone(&count.last))
            };
            if let Some(census) = now {
                return census;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || tokio::time::timeout(left, changed).await.is_err() {
                return Arc::clone(&self.count.lock().last);
            }
        }
    }

    async fn run(&self, store: &dyn Store, clock: &dyn Clock) {
        let started = Instant::now();
        let result = self.walk(store, clock).await;
        let mut count = self.count.lock();
        count.running = false;
        count.took = started.elapsed();
        count.finished = Some(Instant::now());
        match result {
            Ok(census) => count.last = Arc::new(census),
            // The last good count stays; the next reader tries again.
            Err(fault) => tracing::debug!(%fault, "counting keys failed"),
        }
        drop(count);
        self.changed.notify_waiters();
    }

    async fn walk(&self, store: &dyn Store, clock: &dyn Clock) -> Result<Census, Fault> {
        let size = wire::call(store, &["DBSIZE"]).await?;
        let expected = wire::int(&size).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let mut census = Census { at: clock.now_ms(), expected, ..Census::default() };
        let mut cursor = "0".to_owned();
        loop {
            let (next, keys) = scan(store, &cursor, None, 1000).await?;
            self.weigh(store, &mut census, &keys).await?;
            // Until the first walk is done, readers may watch it grow.
            {
                let mut count = self.count.lock();
                if !count.last.done {
                    count.last = Arc::new(census.clone());
                }
            }
            if next == "0" {
                break;
            }
            cursor = next;
            // The embedded store answers at once: without this the walk would keep its thread to the end.
            tokio::task::yield_now().await;
        }
        census.done = true;
        census.at = clock.now_ms();
        Ok(census)
    }

    async fn weigh(
        &self,
        store: &dyn Store,
        census: &mut Census,
        keys: &[Vec<u8>],
    ) -> Result<(), Fault> {
        let mut to_weigh = Vec::new();
        for key in keys {
            census.total += 1;
            let count = self.place(census, key);
            count.keys += 1;
            if count.weighed < SAMPLES as u64 {
                count.weighed += 1;
                to_weigh.push(key);
            }
        }
        let cmds: Vec<_> = to_weigh
            .iter()
            .map(|key| {
                let mut cmd = wire::cmd(&["MEMORY", "USAGE"]);
                cmd.arg(key.as_slice()).arg("SAMPLES").arg(5);
                cmd
            })
            .collect();
        if cmds.is_empty() {
            return Ok(());
        }
        let weights = store.pipeline(&cmds, Deadline::after(wire::CALL)).await?;
        for (key, weight) in to_weigh.iter().zip(weights) {
            let count = self.place(census, key);
            match weight.ok().as_ref().and_then(wire::int).and_then(|n| u64::try_from(n).ok()) {
                Some(bytes) => count.bytes += bytes,
                // Gone meanwhile, or the server does not tell: it is no sample.
                None => count.weighed -= 1,
            }
        }
        Ok(())
    }

    fn place<'c>(&self, census: &'c mut Census, key: &[u8]) -> &'c mut Count {
        match self.classifier.classify(key) {
            Some(found) => census.by_def.entry((found.def.module, found.def.name)).or_default(),
            None => match self.classifier.owner_of_prefix(key) {
                Some(module) => census.unknown.entry(module).or_default(),
                None => &mut census.foreign,
            },
        }
    }
}

/// One round of SCAN.
pub(crate) async fn scan(
    store: &dyn Store,
    cursor: &str,
    glob: Option<&str>,
    count: u32,
) -> Result<(String, Vec<Vec<u8>>), Fault> {
    let mut cmd = wire::cmd(&["SCAN", cursor]);
    if let Some(glob) = glob {
        cmd.arg("MATCH").arg(glob);
    }
    cmd.arg("COUNT").arg(count);
    let reply = store.call(&cmd, Deadline::after(wire::CALL)).await?;
    let parts = kernel::reply::list(&reply).unwrap_or_default();
    let [next, keys] = parts else {
        let detail = "SCAN did not answer with a cursor and keys".to_owned();
        return Err(Fault::Corrupt { key: "SCAN".into(), detail });
    };
    let keys = kernel::reply::list(keys).unwrap_or_default();
    let keys = keys.iter().filter_map(kernel::reply::bytes).map(<[u8]>::to_vec).collect();
    Ok((wire::text(next).unwrap_or_else(|| "0".into()), keys))
}

/// Whether a caller may see this key. One whose token is limited sees only keys that name a tenant or a namespace of
/// its own.
pub fn may_see(caller: &Caller, found: Option<&Classified<'_>>) -> bool {
    if !caller.scopes.is_limited() {
        return true;
    }
    let Some((scope, name)) = found.and_then(|found| {
        let scope = found.def.scope?;
        Some((scope, found.param(scope)?))
    }) else {
        return false;
    };
    match scope {
        "tenant_id" => caller.may_tenant(name),
        "ns" => caller.may_namespace(name),
        _ => false,
    }
}

/// How long a key lives, for people.
pub fn life_words(life: Life) -> String {
    match life {
        Life::None => "none".into(),
        Life::Secs(seconds) => format!("at most {}", span_words(seconds)),
        Life::Inherited(name) => format!("ends with `{name}` of the same scope"),
        Life::Computed(says) | Life::Sometimes(says) => says.into(),
    }
}

fn span_words(seconds: u64) -> String {
    match seconds {
        s if s >= 86_400 && s % 86_400 == 0 => format!("{} d", s / 86_400),
        s if s >= 3600 && s % 3600 == 0 => format!("{} h", s / 3600),
        s if s >= 60 && s % 60 == 0 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

/// Plain faults of a live key, in sentences; `worldkeep check` knows more.
pub fn quick_faults(def: &KeyDef, redis_type: &str, ttl_ms: i64) -> Vec<Said> {
    let mut faults = Vec::new();
    if redis_type != def.type_.redis() {
        let wrong = said::KEY_TYPE.say().with("is", redis_type);
        faults.push(wrong.with("right", def.type_.redis()));
    }
    match def.life {
        Life::None if ttl_ms >= 0 => {
            faults.push(said::KEY_ENDS.say());
        }
        Life::Secs(_) | Life::Inherited(_) | Life::Computed(_) if ttl_ms == -1 => {
            faults.push(said::KEY_ENDLESS.say());
        }
        Life::Secs(most) if u64::try_from(ttl_ms).is_ok_and(|ms| ms > most * 1000) => {
            faults.push(said::KEY_LONG.say().with("most_ms", most * 1000));
        }
        _ => {}
    }
    faults
}

/// The command that measures a value of this type, and what it counts.
pub fn length_command(redis_type: &str) -> Option<&'static str> {
    Some(match redis_type {
        "string" => "STRLEN",
        "hash" => "HLEN",
        "list" => "LLEN",
        "set" => "SCARD",
        "zset" => "ZCARD",
        "stream" => "XLEN",
        _ => return None,
    })
}

/// Word of a definition's type as pages know it.
pub fn type_word(type_: Type) -> &'static str {
    match type_ {
        Type::Json => "json",
        Type::Int => "int",
        Type::Channel => "channel",
        other => other.redis(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token_scopes::TokenScopes;

    const TENANT: &str = "083839c6-c47c-42a6-9585-76492795d123";

    fn keyspace() -> Keyspace {
        Keyspace::new(&Settings::new())
    }

    fn limited(tenants: Option<&[&str]>, namespaces: Option<&[&str]>) -> Caller {
        let list = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        Caller {
            role: Some(crate::access::Role::Reader),
            scopes: TokenScopes::of(tenants.map(list).as_deref(), namespaces.map(list).as_deref()),
            ..Caller::nobody([127, 0, 0, 1].into())
        }
    }

    #[test]
    fn limited_tokens_see_only_their_scopes() {
        let keys = keyspace();
        let see = |caller: &Caller, key: &str| {
            may_see(caller, keys.classifier.classify(key.as_bytes()).as_ref())
        };
        let mine = format!("wk:reactors:{TENANT}:events");
        let other = "wk:reactors:00000000-0000-4000-8000-000000000000:events";
        let caller = limited(Some(&[TENANT]), None);
        assert!(see(&caller, &mine));
        assert!(!see(&caller, other));
        assert!(!see(&caller, "reactor:1000000001"), "a plain key names no tenant");
        assert!(!see(&caller, "somebody:else"));
        assert!(!see(&caller, "room:ABCD2345:meta"), "a room is of no tenant");
        assert!(!see(&caller, "bridge:jobs:waiting"), "it names no namespace, so it holds none");
        let caller = limited(None, Some(&["other"]));
        assert!(!see(&caller, "bridge:jobs:waiting"), "not its namespace");
        assert!(!see(&caller, &mine), "it names no tenant, so it holds none");
        assert!(see(&limited(None, Some(&["bridge"])), "bridge:jobs:waiting"));
        assert!(see(&limited(None, None), "somebody:else"));
    }

    #[test]
    fn weight_is_judged_by_samples() {
        assert_eq!(Count { keys: 100, weighed: 10, bytes: 1000 }.memory(), Some(10_000));
        assert_eq!(Count { keys: 1, weighed: 0, bytes: 0 }.memory(), None);
        assert_eq!(Count::default().memory(), Some(0));
    }

    #[test]
    fn lives_are_told_in_words() {
        assert_eq!(life_words(Life::Secs(43_200)), "at most 12 h");
        assert_eq!(life_words(Life::Secs(30)), "at most 30 s");
        assert_eq!(life_words(Life::None), "none");
    }

    #[test]
    fn plain_faults_of_a_key_are_found() {
        let keys = keyspace();
        let meta = keys.def("rooms", "meta").unwrap();
        assert!(quick_faults(meta, "string", 1000).is_empty());
        assert_eq!(quick_faults(meta, "hash", -1).len(), 2);
        let late = quick_faults(meta, "string", 43_200_001);
        assert_eq!(late[0].sentence(), "it lives longer than 12 h");
    }
}
