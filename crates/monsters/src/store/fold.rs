//! Hits on one monster that arrive together become one call. Whoever finds the monster free leads: it takes
//! along all who wait, does the call, tells each its part, and hands the lead to one of those who came
//! meanwhile. A leader that is dropped halfway leaves its companions an unknown outcome and hands on too.
//!
//! Beside the queue stands a hint: what this process last saw of the monster. The script compares it with the
//! stored text, so a stale hint costs time, never truth.

use std::collections::HashMap;
use std::sync::Arc;

use field::Field;
use kernel::keyspace::Key;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{Monsters, TenantKeys};
use crate::error::Result;
use crate::events;
use crate::model::{Element, Entry, Monster, list_text};
use crate::strike::{Attack, Blow};
use crate::template::Template;

/// No call carries more attacks.
const MOST_FOLDED: usize = 256;
const SHARDS: usize = 64;
/// So many monsters per shard are remembered; forgetting one costs a read.
const REMEMBERED: usize = 4_096;

/// Who was looked for and not there, after how many arrivals, and when.
pub(super) type Absent = (u32, u64, i64);

/// What was last seen of a monster.
pub(super) struct Hint {
    pub(super) id: u32,
    /// The text up to the digits of hp; `None` when it is spelled otherwise than ours.
    pub(super) head: Option<String>,
    /// What stands behind the digits of hp, up to and with the entries, and what behind these; `None` when the whole
    /// text is not as we would write it, or a reflect stands in it.
    pub(super) around: Option<(String, String)>,
    /// The rest of it, as far as a blow may need it.
    bare: Monster,
    /// Of the event: x, y and observer.
    pub(super) place: String,
    pub(super) hp: u32,
    pub(super) monster_id: u32,
    pub(super) field: Field,
    pub(super) template: Option<Arc<Template>>,
    pub(super) control: u32,
    pub(super) aggro: bool,
    /// How many damage entries it has.
    pub(super) count: usize,
    pub(super) sums: Vec<(u32, u64)>,
    /// The event's message up to the value of `x`.
    pub(super) opening: String,
    pub(super) key: Key,
    pub(super) keys: Arc<TenantKeys>,
    /// A leader who was not there: not asked about again until somebody arrives.
    pub(super) absent: Option<Absent>,
}

impl Hint {
    /// Of a text that was read.
    pub(super) fn of(
        monsters: &Monsters,
        tenant: Uuid,
        monster: &Monster,
        text: &str,
    ) -> Option<Hint> {
        let mut hint = Hint::fresh(monsters, tenant, monster)?;
        if !hint.head.as_ref().is_some_and(|head| text.starts_with(head.as_str())) {
            hint.head = None;
        }
        if hint.whole(hint.hp, "").as_deref() != Some(text) {
            hint.around = None;
        }
        Some(hint)
    }

    /// The whole text with these hp and these further entries.
    pub(super) fn whole(&self, hp: u32, added: &str) -> Option<String> {
        let (head, (body, tail)) = (self.head.as_ref()?, self.around.as_ref()?);
        let size = head.len() + body.len() + added.len() + tail.len() + 16;
        let mut text = String::with_capacity(size);
        text.push_str(head);
        text.push_str(itoa::Buffer::new().format(hp));
        text.push_str(body);
        append(&mut text, added);
        text.push_str(tail);
        Some(text)
    }

    /// It was hit, and nobody else changed it meanwhile.
    pub(super) fn grow(&mut self, hp: u32, added: &str, lines: usize, sums: Vec<(u32, u64)>) {
        self.hp = hp;
        if let Some((body, _)) = &mut self.around {
            append(body, added);
        }
        self.count += lines;
        self.sums = sums;
    }

    /// The monster and its text, where both are known: one entry per character stands for all of its entries.
    pub(super) fn known(&self) -> Option<(Monster, String)> {
        let text = self.whole(self.hp, "")?;
        let entry = |&(character_id, sum): &(u32, u64)| {
            let damage = u32::try_from(sum).ok()?;
            Some(Element::new(Entry { character_id, damage, last_hit_ms: 0 }))
        };
        let damage_entries = self.sums.iter().map(entry).collect::<Option<Vec<_>>>()?;
        let mut monster = self.bare.bare();
        monster.hp = self.hp;
        monster.damage_entries = damage_entries;
        Some((monster, text))
    }

    /// Of a monster that we wrote ourselves.
    pub(super) fn fresh(monsters: &Monsters, tenant: Uuid, monster: &Monster) -> Option<Hint> {
        let keys = monsters.of(tenant).ok()?;
        let [middle, end] = monster.parts();
        let cut = middle.find(",\"hp\":")? + ",\"hp\":".len();
        let list = list_text(&monster.damage_entries);
        let digits = middle[cut..].find(',')?;
        let control = monster.control_character_id;
        let opens = end.find("\"damageEntries\":[")? + "\"damageEntries\":[".len();
        let closes = opens + list.len() - 2;
        let reflects = monster.is_under("WEAPON_COUNTER") || monster.is_under("MAGIC_COUNTER");
        let around = (!reflects).then(|| {
            let body = format!("{}{control}{}", &middle[cut + digits..], &end[..closes]);
            (body, end[closes..].to_owned())
        });
        Some(Hint {
            id: monster.unique_id,
            head: Some(format!("{{\"uniqueId\":{}{}", monster.unique_id, &middle[..cut])),
            around,
            bare: monster.bare(),
            place: format!("{},\"y\":{},\"observerId\":{control}", monster.at.x, monster.at.y),
            hp: monster.hp,
            monster_id: monster.monster_id,
            field: monster.field,
            template: monsters.template(monster.monster_id),
            control: monster.control_character_id,
            aggro: monster.controller_has_aggro,
            count: monster.damage_entries.len(),
            sums: monster.summed(),
            opening: format!("{}DAMAGED\",\"body\":{{\"x\":", events::head(monster)),
            key: monsters.keys.monster(tenant, monster.unique_id).ok()?,
            keys,
            absent: None,
        })
    }
}

/// Puts entries behind those of a text that ends with its list, still open.
fn append(text: &mut String, added: &str) {
    if !added.is_empty() && !text.ends_with('[') {
        text.push(',');
    }
    text.push_str(added);
}

/// One who waits for somebody else's call.
struct Waiting {
    attack: Attack,
    tell: oneshot::Sender<Turn>,
}

/// What a waiting one hears.
enum Turn {
    /// It was done.
    Done(Result<Blow>),
    /// Lead now: one's own attack, and those of others to take along.
    Lead(Attack, Vec<Waiting>),
}

#[derive(Default)]
pub(super) struct State {
    busy: bool,
    queue: Vec<Waiting>,
    pub(super) hint: Option<Hint>,
}

/// One monster that is being hit.
#[derive(Default)]
pub(super) struct Slot(pub(super) Mutex<State>);

/// All monsters that are being hit, or were a moment ago.
pub(super) struct Slots(Vec<Shard>);

type Shard = Mutex<HashMap<(Uuid, u32), Arc<Slot>>>;

impl Default for Slots {
    fn default() -> Self {
        Slots((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Slots {
    fn shard(&self, id: u32) -> &Shard {
        &self.0[id as usize % SHARDS]
    }

    pub(super) fn get(&self, tenant: Uuid, id: u32) -> Arc<Slot> {
        let mut shard = self.shard(id).lock();
        if let Some(slot) = shard.get(&(tenant, id)) {
            return Arc::clone(slot);
        }
        if shard.len() >= REMEMBERED {
            // Those in use are held by their leader or by those who wait.
            shard.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(shard.entry((tenant, id)).or_default())
    }

    /// A monster is there now, and this is what it is like.
    pub(super) fn learn(&self, tenant: Uuid, hint: Option<Hint>) {
        let Some(hint) = hint else { return };
        let slot = self.get(tenant, hint.id);
        slot.0.lock().hint = Some(hint);
    }

    /// A monster is gone.
    pub(super) fn forget(&self, tenant: Uuid, id: u32) {
        let mut shard = self.shard(id).lock();
        if let Some(slot) = shard.get(&(tenant, id)) {
            slot.0.lock().hint = None;
            if Arc::strong_count(slot) == 1 {
                shard.remove(&(tenant, id));
            }
        }
    }
}

/// Who leads hands on when it is done, or dropped.
struct Lead<'a>(&'a Slot);

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        loop {
            if state.queue.is_empty() {
                state.busy = false;
                return;
            }
            let many = state.queue.len().min(MOST_FOLDED);
            let mut batch: Vec<Waiting> = state.queue.drain(..many).collect();
            // One who stopped waiting has sent nothing: its attack is dropped with it.
            batch.retain(|waiting| !waiting.tell.is_closed());
            if batch.is_empty() {
                continue;
            }
            let first = batch.remove(0);
            match first.tell.send(Turn::Lead(first.attack, batch)) {
                Ok(()) => return,
                Err(Turn::Lead(_, rest)) => {
                    state.queue.splice(0..0, rest);
                }
                Err(Turn::Done(_)) => {}
            }
        }
    }
}

impl Monsters {
    /// Does one attack, together with those of others that arrive while a call is under way.
    pub(super) async fn fold(&self, tenant: Uuid, id: u32, attack: Attack) -> Result<Blow> {
        let slot = self.slots.get(tenant, id);
        let waits = {
            let mut state = slot.0.lock();
            if state.busy {
                let (tell, hear) = oneshot::channel();
                state.queue.push(Waiting { attack: attack.clone(), tell });
                Some(hear)
            } else {
                state.busy = true;
                None
            }
        };
        let Some(hear) = waits else {
            return self.lead(&slot, tenant, id, attack, Vec::new()).await;
        };
        match hear.await {
            Ok(Turn::Done(blow)) => blow,
            Ok(Turn::Lead(attack, others)) => self.lead(&slot, tenant, id, attack, others).await,
            Err(_) => Err(kernel::Fault::Unknown(
                "the call that carried this hit was given up".to_owned(),
            )
            .into()),
        }
    }

    async fn lead(
        &self,
        slot: &Slot,
        tenant: Uuid,
        id: u32,
        mine: Attack,
        others: Vec<Waiting>,
    ) -> Result<Blow> {
        let _lead = Lead(slot);
        if others.is_empty() {
            let blows = self.blow(slot, tenant, id, std::slice::from_ref(&mine)).await?;
            return Ok(blows.into_iter().next().unwrap_or_default());
        }
        let mut attacks = Vec::with_capacity(1 + others.len());
        attacks.push(mine);
        let (more, tells): (Vec<_>, Vec<_>) =
            others.into_iter().map(|waiting| (waiting.attack, waiting.tell)).unzip();
        attacks.extend(more);
        match self.blow(slot, tenant, id, &attacks).await {
            Ok(blows) => {
                let mut blows = blows.into_iter();
                let own = blows.next().unwrap_or_default();
                for (tell, blow) in tells.into_iter().zip(blows) {
                    let _ = tell.send(Turn::Done(Ok(blow)));
                }
                Ok(own)
            }
            Err(error) => {
                for tell in tells {
                    let _ = tell.send(Turn::Done(Err(error.clone())));
                }
                Err(error)
            }
        }
    }
}
