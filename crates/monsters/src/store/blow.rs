//! The ordinary blow: no reflect, and hp left over. It is one call of `scripts/damage.lua`, together with
//! blows on other monsters that arrive at the same time.

use kernel::reply;
use uuid::Uuid;

use super::fold::{Hint, Slot};
use super::gather::Hit;
use super::{Monsters, timers};
use crate::error::Result;
use crate::events;
use crate::model::{Monster, add};
use crate::strike::{Attack, Blow, Line, MOST_ENTRIES};

/// What is asked of the script.
struct Asked {
    total: u64,
    added: String,
}

/// How a try ended.
pub(super) enum Tried {
    Done(Vec<Blow>),
    Gone,
    Reread(Option<String>),
    /// They kill, and this is the monster as far as it is known.
    Kills(Box<Monster>, String),
}

impl Monsters {
    pub(super) async fn try_script(
        &self,
        slot: &Slot,
        tenant: Uuid,
        attacks: &[Attack],
    ) -> Result<Tried> {
        let now = self.now();
        let stamp = if self.options.decay { now } else { 0 };
        let lines: usize = attacks.iter().map(|attack| attack.damages.len()).sum();
        let asked = asked(attacks, stamp);
        let hint = slot.0.lock().hint.take();
        let Some(hint) = hint else { return Ok(Tried::Reread(None)) };
        let recovers = hint.template.as_ref().is_some_and(|template| template.hp_recovery > 0);
        // With decay, the first hit arms its timer, which the script does not know.
        let plain = hint.head.is_some()
            && u64::from(hint.hp) > asked.total
            && hint.count + lines <= MOST_ENTRIES
            && !(self.options.decay && hint.count == 0);
        if !plain {
            let kills = u64::from(hint.hp) <= asked.total && !recovers;
            let known = if kills { hint.known() } else { None };
            slot.0.lock().hint = Some(hint);
            return Ok(match known {
                Some((monster, text)) => Tried::Kills(Box::new(monster), text),
                None => Tried::Reread(None),
            });
        }
        let mut sums = hint.sums.clone();
        for attack in attacks {
            for damage in &attack.damages {
                add(&mut sums, attack.character_id, u64::from(*damage));
            }
        }
        let event = told_event(&hint, &sums, attacks);
        let recover = recovers.then_some(now + timers::RECOVER_MS);
        let Asked { total, added } = &asked;
        let hit = Hit { hint, total: *total, added: added.clone(), event, now, recover };
        let (mut hint, answer) = self.gather.send(&self.store, self.patience, tenant, hit).await?;
        let answer = answer?;
        match reply::bytes(&answer) {
            Some(b"gone") => return Ok(Tried::Gone),
            Some(b"known") => {
                let before = u64::from(hint.hp);
                let left = u32::try_from(before - asked.total).unwrap_or(0);
                hint.grow(left, &asked.added, lines, sums);
                slot.0.lock().hint = Some(hint);
                return Ok(Tried::Done(plain_blows(attacks, before)));
            }
            _ => {}
        }
        let items = reply::list(&answer).unwrap_or_default();
        let (Some(word), Some(text)) =
            (items.first().and_then(reply::bytes), items.get(1).and_then(reply::text))
        else {
            return Err(reply::unexpected(&hint.key, "a word and a text", &answer).into());
        };
        if word == b"reread" {
            slot.0.lock().hint = Some(hint);
            return Ok(Tried::Reread(Some(text.to_owned())));
        }
        let after = Monster::read(hint.key.as_str(), text.as_bytes())?;
        slot.0.lock().hint = Hint::of(self, tenant, &after, text);
        Ok(Tried::Done(plain_blows(attacks, u64::from(after.hp) + asked.total)))
    }
}

fn asked(attacks: &[Attack], stamp: i64) -> Asked {
    let mut added = String::with_capacity(48 * attacks.len());
    let mut total = 0;
    let mut digits = itoa::Buffer::new();
    for attack in attacks {
        for damage in &attack.damages {
            total += u64::from(*damage);
            if !added.is_empty() {
                added.push(',');
            }
            added.push_str("{\"characterId\":");
            added.push_str(digits.format(attack.character_id));
            added.push_str(",\"damage\":");
            added.push_str(digits.format(*damage));
            if stamp != 0 {
                added.push_str(",\"lastHitMs\":");
                added.push_str(digits.format(stamp));
            }
            added.push('}');
        }
    }
    Asked { total, added }
}

/// The event of a blow on a monster that nobody changed. The script cuts it open where somebody did.
fn told_event(hint: &Hint, sums: &[(u32, u64)], attacks: &[Attack]) -> String {
    let actor = attacks.last().map_or(0, |attack| attack.character_id);
    let boss = hint.template.as_ref().is_some_and(|template| template.boss);
    let mut event = String::with_capacity(hint.opening.len() + 160 + 40 * sums.len());
    event.push_str(&hint.opening);
    event.push_str(&hint.place);
    event.push_str(",\"actorId\":");
    event.push_str(itoa::Buffer::new().format(actor));
    event.push_str(if boss { ",\"boss\":true" } else { ",\"boss\":false" });
    event.push_str(",\"damageEntries\":[");
    events::push_hits(&mut event, sums.iter().copied());
    event.push(']');
    if attacks.len() > 1 {
        event.push_str(",\"hits\":[");
        events::push_hits(&mut event, told(attacks));
        event.push(']');
    }
    event.push_str("}}");
    event
}

/// What each attack did when none of them came near killing.
fn plain_blows(attacks: &[Attack], mut hp: u64) -> Vec<Blow> {
    let mut blows = Vec::with_capacity(attacks.len());
    for attack in attacks {
        let lines: Vec<Line> =
            attack.damages.iter().map(|damage| Line { damage: *damage, actual: *damage }).collect();
        hp -= lines.iter().map(|line| u64::from(line.actual)).sum::<u64>();
        blows.push(Blow { hp: u32::try_from(hp).unwrap_or(0), lines, ..Blow::default() });
    }
    blows
}

fn told(attacks: &[Attack]) -> impl Iterator<Item = (u32, u64)> {
    attacks.iter().flat_map(|attack| {
        attack.damages.iter().map(|damage| (attack.character_id, u64::from(*damage)))
    })
}
