//! Snapshots: the whole world at one tick, as the exact strings that were stored, kept in the
//! database.
//!
//! Always true: every entity of a snapshot is as it was at its tick; the players online are never
//! in one; a restore that was cut short is repeated, because `game:restoring` names it until it is
//! done.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kernel::{Clock, Fault, Store};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use crate::error::SnapshotError;
use crate::keys::Keys;
use crate::model::Fields;
use crate::model::text;
use crate::store::database::{self, Database, on};
use crate::world::World;

mod overlay;
mod read;
pub(crate) mod restore;
mod retain;

/// How often one is taken, wall time.
pub(crate) const EVERY: Duration = Duration::from_mins(1);
/// A failed one is tried again after this.
pub(crate) const AGAIN: Duration = Duration::from_secs(5);
/// The number of failures in a row that deserve an alarm.
pub const ALARM_AFTER: u32 = 3;

/// New systems are looked for this often: it is a walk over all keys of the store.
const SURE_FOR: Duration = Duration::from_mins(10);

/// Entities by their name or id, each with its fields.
pub(crate) type Entities = BTreeMap<String, Fields>;

/// The world at one tick. Values are the stored strings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotState {
    /// The version of this form.
    pub v: u32,
    /// `game:…` keys, by their whole names.
    pub game: BTreeMap<String, String>,
    /// By name.
    pub bodies: Entities,
    /// By id.
    pub ships: Entities,
    /// By id.
    pub stations: Entities,
    /// By id.
    pub jumpgates: Entities,
    /// By ship.
    pub maneuvers: Entities,
    /// By ship, then by rule.
    pub automation: BTreeMap<String, Entities>,
    /// By player.
    pub active_ship: BTreeMap<String, String>,
}

/// The only form there is.
const VERSION: u32 = 1;

impl SnapshotState {
    /// The snapshot's tick, as the game spells it.
    pub fn tick(&self) -> Option<u64> {
        self.game.get("game:tick")?.parse().ok()
    }

    fn time(&self) -> Option<Timestamp> {
        let ns = text::read_time(self.game.get("game:time")?)?;
        Timestamp::from_nanosecond(ns).ok()
    }

    /// Whether a world can be made of it.
    fn check(&self) -> Result<(u64, Timestamp), SnapshotError> {
        let unusable = |why: &str| SnapshotError::Unusable(why.to_owned());
        if self.v != VERSION {
            return Err(unusable("it was made by another version"));
        }
        let tick = self.tick().ok_or_else(|| unusable("it has no game:tick"))?;
        let time = self.time().ok_or_else(|| unusable("it has no game:time"))?;
        if self.bodies.is_empty() {
            return Err(unusable("it has no bodies"));
        }
        Ok((tick, time))
    }
}

/// A snapshot in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SnapshotRow {
    /// Counts up.
    pub id: i64,
    /// The tick it holds.
    pub tick_number: u64,
    /// And its game time.
    pub game_time: Timestamp,
    /// How long its text is.
    pub bytes: u64,
    /// When it was taken.
    pub created_at: Timestamp,
}

/// Takes, keeps and finds snapshots.
pub struct Snapshots {
    database: Database,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    /// The systems that were found, and when.
    systems: Mutex<Option<(Duration, BTreeSet<String>)>>,
    /// Keys with fields that are in no snapshot, which was told.
    odd: Mutex<BTreeSet<String>>,
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Snapshots({})", self.database.place())
    }
}

impl Snapshots {
    /// Of the world in this store, kept in this database.
    pub fn new(
        database: Database,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        keys: Keys,
    ) -> Arc<Self> {
        Arc::new(Snapshots {
            database,
            store,
            clock,
            keys,
            systems: Mutex::default(),
            odd: Mutex::default(),
        })
    }

    /// Takes one and forgets what is too old. `world` is the engine's copy at the tick it just wrote: where the store
    /// moved on while it was read, what moves is as the copy has it.
    pub async fn take(&self, world: &World) -> Result<i64, SnapshotError> {
        let state = self.read(world).await?;
        let id = self.save(&state).await?;
        if let Err(error) = self.forget_old().await {
            // It is kept; only the old ones are still there.
            tracing::warn!(%error, "old snapshots could not be removed");
        }
        Ok(id)
    }

    /// The world as it is at the tick of this copy.
    pub async fn read(&self, world: &World) -> Result<SnapshotState, SnapshotError> {
        let mut systems = self.systems().await?;
        systems.insert(world.system.id.to_owned());
        Ok(read::read(&self.store, self.keys, &systems, world, &self.odd).await?)
    }

    async fn systems(&self) -> Result<BTreeSet<String>, Fault> {
        let now = self.clock.monotonic();
        let known = self.systems.lock().clone();
        if let Some((_, systems)) = known.filter(|(at, _)| now.saturating_sub(*at) < SURE_FOR) {
            return Ok(systems);
        }
        let systems = read::systems(&self.store).await?;
        *self.systems.lock() = Some((now, systems.clone()));
        Ok(systems)
    }

    /// Keeps a state.
    pub async fn save(&self, state: &SnapshotState) -> Result<i64, SnapshotError> {
        let (tick, time) = state.check()?;
        let text = serde_json::to_string(state).expect("maps of strings");
        let tick = i64::try_from(tick).unwrap_or(i64::MAX);
        let statement = self.database.sql(
            "INSERT INTO snapshots (tick_number, game_time, state, created_at)
             VALUES ($1, $2::timestamptz, $3::jsonb, $4::timestamptz) RETURNING id::bigint AS id",
        );
        let now = database::at_ms(self.clock.now_ms());
        Ok(on!(self.database, pool => sqlx::query(statement)
            .bind(tick)
            .bind(database::time_text(time))
            .bind(text)
            .bind(database::time_text(now))
            .fetch_one(pool)
            .await?
            .try_get("id")?))
    }

    /// All of them, newest first.
    pub async fn list(&self) -> Result<Vec<SnapshotRow>, SnapshotError> {
        let statement = self.database.sql(
            "SELECT id::bigint AS id, tick_number, @game_time, @created_at,
             length(state::text)::bigint AS bytes FROM snapshots ORDER BY snapshots.id DESC",
        );
        on!(self.database, pool => {
            let rows = sqlx::query(statement).fetch_all(pool).await?;
            rows.into_iter()
                .map(|row| {
                    Ok(SnapshotRow {
                        id: row.try_get("id")?,
                        tick_number: row.try_get::<i64, _>("tick_number")?.unsigned_abs(),
                        game_time: database::read_time(row.try_get("game_time")?)?,
                        bytes: row.try_get::<i64, _>("bytes")?.unsigned_abs(),
                        created_at: database::read_time(row.try_get("created_at")?)?,
                    })
                })
                .collect()
        })
    }

    /// One of them, whole.
    pub async fn get(&self, id: i64) -> Result<SnapshotState, SnapshotError> {
        let statement =
            self.database.sql("SELECT state::text AS state FROM snapshots WHERE id = $1");
        let text: Option<String> = on!(self.database, pool => sqlx::query(statement)
            .bind(id)
            .fetch_optional(pool)
            .await?
            .map(|row| row.try_get("state"))
            .transpose()?);
        let text = text.ok_or(SnapshotError::Missing(id))?;
        let state: SnapshotState = serde_json::from_str(&text)
            .map_err(|error| SnapshotError::Unusable(error.to_string()))?;
        state.check()?;
        Ok(state)
    }

    /// The one that was taken last.
    pub async fn newest(&self) -> Result<Option<i64>, SnapshotError> {
        let statement =
            self.database.sql("SELECT id::bigint AS id FROM snapshots ORDER BY id DESC LIMIT 1");
        Ok(on!(self.database, pool => sqlx::query(statement)
            .fetch_optional(pool)
            .await?
            .map(|row| row.try_get("id"))
            .transpose()?))
    }

    /// Removes what is neither of the last sixty, nor the last of an hour of this day, nor of a day of this week.
    pub async fn forget_old(&self) -> Result<usize, SnapshotError> {
        let all = self.list().await?;
        let now = database::at_ms(self.clock.now_ms());
        let old = retain::old(all.iter().map(|row| (row.id, row.created_at)), now);
        for id in &old {
            let statement = self.database.sql("DELETE FROM snapshots WHERE id = $1");
            on!(self.database, pool => { sqlx::query(statement).bind(*id).execute(pool).await?; });
        }
        Ok(old.len())
    }
}
