//! The verbs on monsters, one file per family. Each change of a monster is a rule, a pure function of the stored
//! monster, its template and the time, that the kernel's writer applies as one step with all that goes along.
//! [`Monsters`] is cheap to share.

mod bulk;
mod change;
mod commands;
mod control;
mod damage;
mod deaths;
pub(crate) mod doctor;
mod drops;
mod later;
mod query;
mod remove;
mod skill_effects;
mod skills;
mod spawn;
mod status;
mod timers;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use field::{Field, Tenant};
use kernel::keyspace::{Key, Layout};
use kernel::{
    Clock, Deadline, Decision, Documents, Effects as _, Mark, Op, Pending, ScopeSet, Store,
    TimerKeys, Writer,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::error::Result;
use crate::events;
use crate::keys::Keys;
use crate::model::Monster;
use crate::template::{Skill, Skills, Template, Templates};

pub use bulk::MOST_AT_ONCE;
pub use commands::{CommandError, EffectBody};
pub use control::Entered;
pub use later::Picked;
pub use query::Listed;
pub use remove::Cleared;
pub use skills::Used;
pub use spawn::Spawn;
pub use status::{Applied, Cancelled};

/// Keys of so many tenants are remembered; forgetting them costs writing them anew.
const TENANTS: usize = 1_024;

/// A whole number from 0 up to, but not including, the one given. Chance comes from outside, as time does.
pub type Dice = Arc<dyn Fn(u32) -> u32 + Send + Sync>;

/// How the module behaves where upstream's versions differ.
#[derive(Clone)]
pub struct Options {
    /// How keys are spelled.
    pub layout: Layout,
    /// The templates.
    pub templates: Arc<Templates>,
    /// The skills.
    pub skills: Arc<Skills>,
    /// Chance.
    pub dice: Dice,
    /// Whether idle damage entries shrink; off keeps every entry as the seed says.
    pub decay: bool,
    /// Whether a hit turns a monster on its controller.
    pub aggro: bool,
}

/// The monsters of all tenants in one store.
pub struct Monsters {
    pub(crate) store: Arc<dyn Store>,
    writer: Writer<Documents<Monster>>,
    drop_timers: Writer,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) keys: Keys,
    pub(crate) options: Arc<Options>,
    pub(crate) scopes: ScopeSet,
    /// Keys of the tenants seen last.
    tenants: Mutex<HashMap<Uuid, Arc<TenantKeys>>>,
    /// Counts characters that came in: a hint about somebody's absence is no older than the last of them.
    arrivals: AtomicU64,
    /// Characters that were looked for in a field and not found.
    absent: Mutex<HashMap<(Uuid, Field, u32), control::Absent>>,
    deaths: deaths::Deaths,
    wake: Mutex<Option<Arc<Notify>>>,
    /// How long one call of the store may take.
    patience: Duration,
}

/// The new position of a monster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Move {
    /// To the right.
    pub x: i16,
    /// Downwards.
    pub y: i16,
    /// How it stands.
    pub stance: u8,
    /// The foothold, when it is told.
    pub fh: Option<i16>,
    /// The life it is meant for: an heir of the id is not moved. Without it, whoever has the id is.
    pub life: Option<u64>,
}

impl Monsters {
    /// The monsters in `store`.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, options: Options) -> Self {
        let keys = Keys::new(options.layout);
        Monsters {
            writer: Writer::of_documents(Arc::clone(&store)),
            drop_timers: Writer::new(Arc::clone(&store)),
            store,
            clock,
            scopes: ScopeSet::new(keys.scopes().as_str()),
            keys,
            options: Arc::new(options),
            tenants: Mutex::default(),
            arrivals: AtomicU64::new(0),
            absent: Mutex::default(),
            deaths: deaths::Deaths::default(),
            wake: Mutex::new(None),
            patience: Duration::from_secs(5),
        }
    }

    /// The catalogue of templates.
    pub fn templates(&self) -> &Arc<Templates> {
        &self.options.templates
    }

    /// The catalogue of skills.
    pub fn skills(&self) -> &Arc<Skills> {
        &self.options.skills
    }

    pub(crate) fn by(&self) -> Deadline {
        Deadline::after(self.patience)
    }

    pub(crate) fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    pub(crate) fn template(&self, id: u32) -> Option<Arc<Template>> {
        self.options.templates.get(id)
    }

    pub(crate) fn skill(&self, id: u16, level: u8) -> Option<Arc<Skill>> {
        self.options.skills.get(Skill::key(id, level))
    }

    pub(crate) fn roll(&self, below: u32) -> u32 {
        if below == 0 { 0 } else { (self.options.dice)(below).min(below - 1) }
    }

    /// An id for an effect; its bits come from the dice.
    pub(crate) fn effect_id(&self) -> Uuid {
        let word = || self.roll(u32::MAX).to_be_bytes();
        let mut bytes = [0; 16];
        for part in bytes.chunks_exact_mut(4) {
            part.copy_from_slice(&word());
        }
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }

    /// A timer was armed: the serving loop looks again.
    pub(crate) fn wake(&self) {
        if let Some(wake) = &*self.wake.lock() {
            wake.notify_one();
        }
    }

    pub(crate) async fn ensure_scope(&self, tenant: Uuid) -> Result<()> {
        let scope = tenant.to_string();
        Ok(self.scopes.ensure(&*self.store, &*self.clock, &scope, self.by()).await?)
    }

    pub(crate) fn of(&self, tenant: Uuid) -> Result<Arc<TenantKeys>> {
        let mut tenants = self.tenants.lock();
        if let Some(keys) = tenants.get(&tenant) {
            return Ok(Arc::clone(keys));
        }
        if tenants.len() >= TENANTS {
            tenants.clear();
        }
        let keys = Arc::new(TenantKeys::new(self.keys, tenant)?);
        tenants.insert(tenant, Arc::clone(&keys));
        Ok(keys)
    }

    /// Moves a monster. The move is told in passing, on the channel of moves; no event is kept of it.
    pub async fn movement(&self, tenant: &Tenant, id: u32, to: Move) -> Result<Monster> {
        self.movement_for(tenant.id, id, to, None).await
    }

    async fn movement_for(
        &self,
        tenant: Uuid,
        id: u32,
        to: Move,
        answers: Option<&Pending>,
    ) -> Result<Monster> {
        self.alter(tenant, id, answers, move |context, mut step, monster| {
            monster.meant(to.life)?;
            let (from, was) = (monster.at, (monster.at, monster.stance, monster.fh));
            monster.at = field::Point::new(to.x, to.y);
            monster.stance = to.stance;
            monster.fh = to.fh.unwrap_or(monster.fh);
            if was != (monster.at, monster.stance, monster.fh) {
                let told = events::moved(monster, context.now_ms, from);
                step = step.publish(&context.keys.moves, told);
            }
            Ok(Decision::Write(step, monster.clone()))
        })
        .await
    }
}

/// Keys of one tenant that nearly every step needs.
pub(crate) struct TenantKeys {
    pub(crate) keys: Keys,
    pub(crate) tenant: Uuid,
    pub(crate) events: Key,
    pub(crate) moves: Key,
    pub(crate) free: Key,
    pub(crate) next: Key,
    pub(crate) lives: Key,
    pub(crate) timers: TimerKeys,
    /// The prefix of the id in the key of a monster, of a drop timer, and of a cooldown.
    pub(crate) monsters: String,
    pub(crate) drop_timers: String,
    pub(crate) cooldowns: String,
}

impl TenantKeys {
    fn new(keys: Keys, tenant: Uuid) -> Result<Self> {
        let prefix = |key: Key, end: &str| key.as_str().trim_end_matches(end).to_owned();
        Ok(TenantKeys {
            keys,
            tenant,
            events: keys.events(tenant)?,
            moves: keys.moves(tenant)?,
            free: keys.ids_free(tenant)?,
            next: keys.ids_next(tenant)?,
            lives: keys.lives(tenant)?,
            timers: TimerKeys::new(keys.due(tenant)?, keys.due_data(tenant)?),
            monsters: prefix(keys.monster(tenant, 0)?, "0"),
            drop_timers: prefix(keys.drop_timer(tenant, 0)?, "0"),
            cooldowns: prefix(keys.cooldown(tenant, 0, 0)?, "0:0"),
        })
    }

    pub(crate) fn map(&self, field: Field) -> Result<Key> {
        let Field { world_id, channel_id, map_id, instance } = field;
        Ok(self.keys.map(self.tenant, world_id, channel_id, map_id, instance)?)
    }

    pub(crate) fn present(&self, field: Field) -> Result<Key> {
        let Field { world_id, channel_id, map_id, instance } = field;
        Ok(self.keys.present(self.tenant, world_id, channel_id, map_id, instance)?)
    }

    pub(crate) fn hidden(&self, field: Field) -> Result<Key> {
        let Field { world_id, channel_id, map_id, instance } = field;
        Ok(self.keys.hidden(self.tenant, world_id, channel_id, map_id, instance)?)
    }

    pub(crate) fn puppets(&self, field: Field) -> Result<Key> {
        let Field { world_id, channel_id, map_id, instance } = field;
        Ok(self.keys.puppets(self.tenant, world_id, channel_id, map_id, instance)?)
    }

    /// The field in which the life of a monster is counted.
    pub(crate) fn mark(&self, id: u32) -> Mark {
        Mark { hash: self.lives.as_bytes().to_vec(), field: id.to_string().into_bytes() }
    }

    /// The writes that move a monster's control from one character to another; 0 is nobody.
    pub(crate) fn counted(&self, field: Field, from: u32, to: u32) -> Result<Vec<Op>> {
        let mut ops = Vec::new();
        if from != to {
            let present = self.present(field)?;
            for (who, by) in [(from, -1), (to, 1)].into_iter().filter(|(who, _)| *who != 0) {
                ops = ops.hincrby(&present, who.to_string(), by);
            }
        }
        Ok(ops)
    }
}
