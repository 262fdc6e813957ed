//! A world with many ships in a store, and an engine that ticks it for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use galaxy::keys::Keys;
use galaxy::physics::ShipClass;
use galaxy::physics::solar::SOL;
use galaxy::{
    Command, Engine, Epoch, Handle, Options, Order, Placement, Rule, RuleDraft, World, create,
};
use kernel::keyspace::Layout;
use kernel::{Clock as _, Cmd, Deadline, Store, SystemClock};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(super) const KEYS: Keys = Keys::new(Layout::Plain);

/// Fills an empty store with a world of so many ships, with one rule each if wanted.
pub(super) async fn fill(
    store: &Arc<dyn Store>,
    ships: usize,
    ruled: bool,
) -> Result<World, String> {
    let by = || Deadline::after(Duration::from_mins(1));
    let _ = store.call(Cmd::new().arg("FLUSHALL"), by()).await;
    let now_ms = SystemClock::new().now_ms();
    let mut world =
        create(store, KEYS, &SOL, Epoch::Now, now_ms).await.map_err(|fault| fault.to_string())?;
    let mut cmds = Vec::new();
    for n in 0..ships {
        cmds.extend(new_ship(&mut world, n, ruled)?);
        if cmds.len() > 1_000 || n + 1 == ships {
            let cmds = std::mem::take(&mut cmds);
            let done = store.pipeline(&cmds, by()).await.map_err(|fault| fault.to_string())?;
            for outcome in done {
                outcome.map_err(|fault| fault.to_string())?;
            }
        }
    }
    Ok(world)
}

/// Names one ship.
pub(super) fn ship_id(n: usize) -> Uuid {
    Uuid::from_u128(0x0000_0000_0000_4000_8000_0000_0000_0000 + n as u128)
}

/// Names its owner.
pub(super) fn player_id(n: usize) -> Uuid {
    Uuid::from_u128(0x0000_0000_0001_4000_8000_0000_0000_0000 + n as u128)
}

fn new_ship(world: &mut World, n: usize, ruled: bool) -> Result<Vec<Cmd>, String> {
    let id = ship_id(n);
    #[allow(clippy::cast_precision_loss)] // some ten thousand
    let altitude = 4e5 + 1e3 * (n % 5_000) as f64;
    let place = Placement::Orbit { body: "Earth".into(), altitude };
    let at = world.spawn_point(&place, n as u64 + 1).ok_or("there is no Earth")?;
    let owner = player_id(n).to_string();
    let record = world.new_ship((&owner, "Bench"), ShipClass::first(), at);
    let key = KEYS.ship(id).map_err(|bad| bad.to_string())?;
    let mut cmds = vec![hash(key.as_str(), record.write())];
    cmds.push(line(&["SADD", "system:sol:ships", &id.to_string()]));
    if ruled {
        let draft = RuleDraft {
            name: "Low and slow".into(),
            enabled: true,
            mode: "continuous".into(),
            priority: 50,
            trigger: json!({"conditions": [
                {"field": "ship.fuel_pct", "op": "<", "value": 5},
                {"field": "orbit.periapsis", "op": "<", "value": 1e5}], "logic": "AND"}),
            actions: json!([{"action": "set_attitude", "mode": "prograde"},
                {"action": "set_thrust", "value": 0.1}]),
        };
        let rule = Rule::of(id, &draft, String::new()).map_err(|bad| bad.to_string())?;
        let key = KEYS.rule(id, id).map_err(|bad| bad.to_string())?;
        cmds.push(hash(key.as_str(), rule.write(id)));
        let rules = KEYS.rules(id).map_err(|bad| bad.to_string())?;
        cmds.push(line(&["SADD", rules.as_str(), &id.to_string()]));
    }
    world.add_ship(id, record);
    Ok(cmds)
}

fn line(words: &[&str]) -> Cmd {
    let mut cmd = Cmd::new();
    for word in words {
        cmd.arg(*word);
    }
    cmd
}

fn hash(key: &str, fields: Vec<(&'static str, String)>) -> Cmd {
    let mut cmd = line(&["HSET", key]);
    for (field, value) in fields {
        cmd.arg(field).arg(value);
    }
    cmd
}

/// An engine that ticks the world of a store.
pub(super) struct Running {
    handle: Handle,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    pub(super) async fn start(
        store: &Arc<dyn Store>,
        rate: f64,
        scale: f64,
    ) -> Result<Self, String> {
        let clock = Arc::new(SystemClock::new());
        let (engine, handle) = Engine::new(Arc::clone(store), clock, KEYS, Options::new("bench"));
        let stop = CancellationToken::new();
        let task = tokio::spawn(engine.run(stop.clone()));
        let mut seen = handle.seen();
        let leads = tokio::time::timeout(Duration::from_secs(30), seen.wait_for(|seen| seen.leads));
        let leads = leads.await.map(|found| found.is_ok());
        if leads != Ok(true) {
            return Err("the engine did not start".into());
        }
        let running = Running { handle, stop, task };
        for order in [
            Order::TimeSync { enabled: false },
            Order::TimeScale { time_scale: scale },
            Order::TickRate { tick_rate: rate },
        ] {
            running.ask(order).await?;
        }
        Ok(running)
    }

    async fn ask(&self, order: Order) -> Result<(), String> {
        let at_ms = SystemClock::new().now_ms();
        let command = Command { at_ms, player_id: None, ship_id: None, order };
        match self.handle.ask(command).await {
            Some(Ok(_)) => Ok(()),
            Some(Err(why)) => Err(why.to_string()),
            None => Err("the engine does not lead".into()),
        }
    }

    /// Ticks per second over a while.
    pub(super) async fn rate(&self, seconds: f64) -> f64 {
        let seen = self.handle.seen();
        let (start, first) = (Instant::now(), seen.borrow().tick);
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        let ticks = seen.borrow().tick - first;
        #[allow(clippy::cast_precision_loss)] // a few hundred
        let ticks = ticks as f64;
        ticks / start.elapsed().as_secs_f64()
    }

    /// How long each of the next ticks took, with its write, in ms.
    pub(super) async fn times(&self, ticks: usize) -> Vec<f64> {
        let mut seen = self.handle.seen();
        let mut times = Vec::with_capacity(ticks);
        let mut last = seen.borrow_and_update().tick;
        while times.len() < ticks && seen.changed().await.is_ok() {
            let now = seen.borrow_and_update();
            if now.tick > last {
                last = now.tick;
                times.push(now.numbers.took.as_secs_f64() * 1e3);
            }
        }
        times
    }

    pub(super) async fn end(self) {
        self.stop.cancel();
        let _ = self.task.await;
    }
}
