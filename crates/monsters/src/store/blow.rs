//! The ordinary blow: no reflect, and hp left over. One call of `scripts/damage.lua`; where the data is in this process
//! and nobody changed the monster since it was last seen, the same writes without the script.

use kernel::{Next, reply};

use super::fold::{Hint, Slot};
use super::{Monsters, timers};
use crate::error::Result;
use crate::events;
use crate::model::{Monster, add};
use crate::scripts;
use crate::strike::{Attack, Blow, Line, MOST_ENTRIES};

/// What the script was asked, as far as the caller needs it again.
struct Asked {
    total: u64,
    added: String,
}

/// How a try ended.
pub(super) enum Tried {
    Done(Vec<Blow>),
    Gone,
    Reread(Option<String>),
}

impl Monsters {
    pub(super) async fn try_script(&self, slot: &Slot, attacks: &[Attack]) -> Result<Tried> {
        let now = self.now();
        let stamp = if self.options.decay { now } else { 0 };
        let lines: usize = attacks.iter().map(|attack| attack.damages.len()).sum();
        let asked = asked(attacks, stamp);
        let hint = slot.0.lock().hint.take();
        let Some(mut hint) = hint else { return Ok(Tried::Reread(None)) };
        // With decay, the first hit arms its timer, which the script does not know.
        let plain = hint.head.is_some()
            && u64::from(hint.hp) > asked.total
            && hint.count + lines <= MOST_ENTRIES
            && !(self.options.decay && hint.count == 0);
        if !plain {
            slot.0.lock().hint = Some(hint);
            return Ok(Tried::Reread(None));
        }
        let mut sums = hint.sums.clone();
        for attack in attacks {
            for damage in &attack.damages {
                add(&mut sums, attack.character_id, u64::from(*damage));
            }
        }
        let mut answer = self.blow_here(&hint, &asked, &sums, attacks, now)?;
        if answer.is_none() {
            answer = Some(self.run(&hint, &asked, &sums, attacks, now).await?);
        }
        let answer = answer.unwrap_or(kernel::Value::Nil);
        match reply::bytes(&answer) {
            Some(b"gone") => return Ok(Tried::Gone),
            Some(b"known") => {
                let before = u64::from(hint.hp);
                hint.hp = u32::try_from(before - asked.total).unwrap_or(0);
                if !hint.entries.is_empty() {
                    hint.entries.push(',');
                }
                hint.entries.push_str(&asked.added);
                hint.count += lines;
                hint.sums = sums;
                let blows = plain_blows(attacks, before);
                slot.0.lock().hint = Some(hint);
                return Ok(Tried::Done(blows));
            }
            _ => {}
        }
        let items = reply::list(&answer).unwrap_or_default();
        let (Some(word), Some(text)) =
            (items.first().and_then(reply::bytes), items.get(1).and_then(reply::text))
        else {
            return Err(reply::unexpected(&hint.keys[0], "a word and a text", &answer).into());
        };
        if word == b"reread" {
            slot.0.lock().hint = Some(hint);
            return Ok(Tried::Reread(Some(text.to_owned())));
        }
        let after = Monster::read(hint.keys[0].as_str(), text.as_bytes())?;
        let tenant = after.tenant_id.parse().unwrap_or_default();
        slot.0.lock().hint = Hint::of(self, tenant, &after, text);
        Ok(Tried::Done(plain_blows(attacks, u64::from(after.hp) + asked.total)))
    }

    async fn run(
        &self,
        hint: &Hint,
        asked: &Asked,
        sums: &[(u32, u64)],
        attacks: &[Attack],
        now: i64,
    ) -> Result<kernel::Value> {
        let recovers = hint.template.as_ref().is_some_and(|template| template.hp_recovery > 0);
        let (middle, closing) = told_parts(hint, attacks);
        let sums = events::sums_text(sums);
        let recover = if recovers { (now + timers::RECOVER_MS).to_string() } else { String::new() };
        // Where nobody changed the monster since, its new text and its event are known here already.
        let after = u32::try_from(u64::from(hint.hp) - asked.total).unwrap_or(0);
        let texts = hint.whole(hint.hp, "").zip(hint.whole(after, &asked.added));
        let (old, new) = texts.filter(|_| !recovers).unwrap_or_default();
        let mut event = String::new();
        if !old.is_empty() {
            let parts = [hint.opening.as_str(), &hint.place, &middle, &sums, &closing];
            event = parts.concat();
        }
        let [mut total, mut template, mut control, mut at, mut id] =
            std::array::from_fn(|_| itoa::Buffer::new());
        let args: [&[u8]; 16] = [
            hint.head.as_deref().unwrap_or_default().as_bytes(),
            total.format(asked.total).as_bytes(),
            asked.added.as_bytes(),
            hint.entries.as_bytes(),
            sums.as_bytes(),
            template.format(hint.monster_id).as_bytes(),
            control.format(hint.control).as_bytes(),
            at.format(now).as_bytes(),
            id.format(hint.id).as_bytes(),
            hint.opening.as_bytes(),
            middle.as_bytes(),
            closing.as_bytes(),
            recover.as_bytes(),
            old.as_bytes(),
            new.as_bytes(),
            event.as_bytes(),
        ];
        let keys = hint.keys.each_ref().map(kernel::keyspace::Key::as_bytes);
        Ok(self.store.script(&scripts::DAMAGE, &keys, &args, self.by()).await?)
    }

    /// The first part of the script, without it: where the data is in this process and nobody changed the monster
    /// since, its new text and its event are known here already. `None`: leave it to the script.
    fn blow_here(
        &self,
        hint: &Hint,
        asked: &Asked,
        sums: &[(u32, u64)],
        attacks: &[Attack],
        now: i64,
    ) -> Result<Option<kernel::Value>> {
        let Some(here) = self.store.here() else { return Ok(None) };
        let recovers = hint.template.as_ref().is_some_and(|template| template.hp_recovery > 0);
        let after = u32::try_from(u64::from(hint.hp) - asked.total).unwrap_or(0);
        let Some(new) = hint.whole(after, &asked.added).filter(|_| !recovers) else {
            return Ok(None);
        };
        let event = told_event(hint, sums, attacks);
        let [mut at, mut id] = std::array::from_fn(|_| itoa::Buffer::new());
        let [monster, events] = [hint.keys[0].as_bytes(), hint.keys[1].as_bytes()];
        let (at, id) = (at.format(now).as_bytes(), id.format(hint.id).as_bytes());
        // The text goes last, as in the script.
        let cmds: [&[&[u8]]; 3] = [
            &[b"GET", monster],
            &[
                b"XADD",
                events,
                b"MAXLEN",
                b"~",
                kernel::EVENTS_KEPT.as_bytes(),
                b"*",
                b"type",
                b"DAMAGED",
                b"at",
                at,
                b"id",
                id,
                b"body",
                event.as_bytes(),
            ],
            &[b"SET", monster, new.as_bytes()],
        ];
        let mut ended: Result<Option<&str>> = Ok(Some("known"));
        let mut look = |at: usize, reply: &[u8]| {
            let stops = match (at, reply.first()) {
                (0, Some(b'$')) if reply.starts_with(b"$-1") => Ok(Some("gone")),
                (0, Some(b'$')) if hint.is(bulk(reply)) => return Next::Go,
                (1 | 2, Some(b'$' | b'+')) => return Next::Go,
                // Changed meanwhile, or wrong in a way that the script says.
                (0 | 1, _) => Ok(None),
                _ => Err(kernel::Fault::Unknown("a monster's text was not taken".into()).into()),
            };
            ended = stops;
            Next::Stop
        };
        let Some(ran) = here.at_once(&cmds, &mut look, self.by()) else { return Ok(None) };
        ran?;
        Ok(ended?.map(|word| kernel::Value::SimpleString(word.to_owned())))
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

/// What the event says between place and sums, and behind these.
fn told_parts(hint: &Hint, attacks: &[Attack]) -> (String, String) {
    let actor = attacks.last().map_or(0, |attack| attack.character_id);
    let boss = hint.template.as_ref().is_some_and(|template| template.boss);
    let mut middle = String::with_capacity(64);
    middle.push_str(",\"actorId\":");
    middle.push_str(itoa::Buffer::new().format(actor));
    middle.push_str(if boss { ",\"boss\":true" } else { ",\"boss\":false" });
    middle.push_str(",\"damageEntries\":");
    let mut closing = String::new();
    if attacks.len() > 1 {
        closing.push_str(",\"hits\":[");
        events::push_hits(&mut closing, told(attacks));
        closing.push(']');
    }
    closing.push_str("}}");
    (middle, closing)
}

/// The whole event of a blow on a monster that nobody changed.
fn told_event(hint: &Hint, sums: &[(u32, u64)], attacks: &[Attack]) -> String {
    let (middle, closing) = told_parts(hint, attacks);
    let mut event = String::with_capacity(hint.opening.len() + 160 + 40 * sums.len());
    for part in [hint.opening.as_str(), &hint.place, &middle, "["] {
        event.push_str(part);
    }
    events::push_hits(&mut event, sums.iter().copied());
    event.push(']');
    event.push_str(&closing);
    event
}

/// The text of a bulk reply.
fn bulk(reply: &[u8]) -> &[u8] {
    let start = reply.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    reply.get(start..reply.len().saturating_sub(2)).unwrap_or_default()
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
