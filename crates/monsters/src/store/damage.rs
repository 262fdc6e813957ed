//! Damage. The ordinary blow is in `blow.rs`; one that kills, is reflected or meets a text of
//! another spelling is decided in Rust and swapped in by compare-and-set. Either way exactly one attack kills.

use field::Tenant;
use kernel::{Effects as _, Pending, Step, Stepped};
use uuid::Uuid;

use super::Monsters;
use super::blow::Tried;
use super::fold::{Hint, Slot};
use crate::error::{MonsterError, Result};
use crate::events;
use crate::model::Monster;
use crate::strike::{Attack, Blow, strike};

/// An attack has no more hits.
const MOST_LINES: usize = 64;
/// Others may change the monster between reading and writing; hits are not given up for that.
const TRIES: usize = 200;

impl Monsters {
    /// Hits a monster. Hits that arrive together are folded into one call and leave the same bytes.
    pub async fn damage(&self, tenant: &Tenant, id: u32, attack: Attack) -> Result<Blow> {
        if attack.damages.len() > MOST_LINES {
            return Err(MonsterError::bad("damages", "may have at most 64 hits"));
        }
        if attack.attack_type > 3 {
            return Err(MonsterError::bad(
                "attackType",
                "is 0 melee, 1 ranged, 2 magic or 3 energy",
            ));
        }
        if attack.damages.is_empty() {
            let monster = self.get(tenant, id).await?;
            return Ok(Blow { hp: monster.hp, dead: !monster.alive(), ..Blow::default() });
        }
        let blow = self.fold(tenant.id, id, attack).await?;
        if blow.dead { Err(MonsterError::Dead) } else { Ok(blow) }
    }

    /// Does attacks in order, as one change of the monster where that is possible.
    pub(super) async fn blow(
        &self,
        slot: &Slot,
        tenant: Uuid,
        id: u32,
        attacks: &[Attack],
    ) -> Result<Vec<Blow>> {
        let mut text = None;
        for _ in 0..TRIES {
            if text.is_none() {
                match self.try_script(slot, tenant, attacks).await? {
                    Tried::Done(blows) => {
                        self.after_blow(slot, tenant, id, attacks).await;
                        return Ok(blows);
                    }
                    Tried::Gone => {
                        slot.0.lock().hint = None;
                        return Err(MonsterError::NotFound);
                    }
                    Tried::Kills(before, stored) => {
                        // Where that was not so any more, it is read.
                        slot.0.lock().hint = None;
                        match self.try_swap(slot, tenant, &before, &stored, attacks).await? {
                            Some(blows) => return Ok(blows),
                            None => continue,
                        }
                    }
                    Tried::Reread(stored) => text = stored,
                }
            }
            let stored = match text.take() {
                Some(stored) => stored,
                None => self.fetch(tenant, id).await?.0,
            };
            let key = self.keys.monster(tenant, id)?;
            let before = Monster::read(key.as_str(), stored.as_bytes())?;
            // What the script can do is left to it, now that it is known what the monster is like.
            let known = Hint::of(self, tenant, &before, &stored);
            let first_look = slot.0.lock().hint.is_none();
            slot.0.lock().hint = known;
            if first_look && self.is_plain(slot, &before, attacks) {
                continue;
            }
            if let Some(blows) = self.try_swap(slot, tenant, &before, &stored, attacks).await? {
                return Ok(blows);
            }
        }
        Err(MonsterError::Contended)
    }

    /// Whether the script will do these attacks.
    fn is_plain(&self, slot: &Slot, monster: &Monster, attacks: &[Attack]) -> bool {
        let total: u64 = attacks.iter().flat_map(|a| &a.damages).map(|d| u64::from(*d)).sum();
        let usual = slot.0.lock().hint.as_ref().is_some_and(|hint| hint.head.is_some())
            && !(self.options.decay && monster.damage_entries.is_empty());
        let counters = monster.is_under("WEAPON_COUNTER") || monster.is_under("MAGIC_COUNTER");
        usual && !counters && u64::from(monster.hp) > total
    }

    async fn try_swap(
        &self,
        slot: &Slot,
        tenant: Uuid,
        before: &Monster,
        text: &str,
        attacks: &[Attack],
    ) -> Result<Option<Vec<Blow>>> {
        let how = How { revives: true, answers: None };
        let swapped = self.swap_blow(tenant, before, text, attacks, how).await;
        if matches!(swapped, Err(MonsterError::NotFound)) {
            slot.0.lock().hint = None;
        }
        let Some((blows, hint)) = swapped? else { return Ok(None) };
        let lives = hint.is_some();
        slot.0.lock().hint = hint;
        if lives {
            self.after_blow(slot, tenant, before.unique_id, attacks).await;
        }
        Ok(Some(blows))
    }

    /// One attack by compare-and-set alone: for what must be acknowledged in its step, or is no character's.
    pub(super) async fn strike_for(
        &self,
        tenant: &Tenant,
        id: u32,
        attack: &Attack,
        revives: bool,
        answers: Option<&Pending>,
    ) -> Result<Blow> {
        let attacks = std::slice::from_ref(attack);
        let mut last = String::new();
        for _ in 0..TRIES {
            let (text, before) = self.fetch(tenant.id, id).await?;
            // Nothing changed and yet it was not done: another server answered the command.
            if text == last {
                return Err(MonsterError::Contended);
            }
            let how = How { revives, answers };
            let Some((blows, hint)) =
                self.swap_blow(tenant.id, &before, &text, attacks, how).await?
            else {
                last = text;
                continue;
            };
            let slot = self.slots.get(tenant.id, id);
            let lives = hint.is_some();
            slot.0.lock().hint = hint;
            if lives {
                self.after_blow(&slot, tenant.id, id, attacks).await;
            }
            let blow = blows.into_iter().next().unwrap_or_default();
            return if blow.dead { Err(MonsterError::Dead) } else { Ok(blow) };
        }
        Err(MonsterError::Contended)
    }

    /// Decides here and swaps the result in. `None`: somebody was faster, look again.
    async fn swap_blow(
        &self,
        tenant: Uuid,
        before: &Monster,
        text: &str,
        attacks: &[Attack],
        how: How<'_>,
    ) -> Result<Option<(Vec<Blow>, Option<Hint>)>> {
        let (now, id) = (self.clock.now_ms(), before.unique_id);
        let template = self.template(before.monster_id);
        let boss = template.as_ref().is_some_and(|template| template.boss);
        let mut after = before.clone();
        let blows = strike(&mut after, attacks, if self.options.decay { self.now() } else { 0 });
        if blows.iter().all(|blow| blow.dead) {
            return Ok(Some((blows, None)));
        }
        let keys = self.of(tenant)?;
        let mut step = Step::new(self.keys.monster(tenant, id)?).expect(text);
        if let Some(command) = how.answers {
            step = step.answers(command);
        }
        for reflected in blows.iter().filter_map(|blow| blow.reflected.as_ref()) {
            step = step.event(&keys.events, &events::reflected(&after, now, reflected));
        }
        let hits: Vec<(u32, u64)> =
            if attacks.len() > 1 { told_blows(attacks, &blows).collect() } else { Vec::new() };
        let killer = blows.iter().position(|blow| blow.killed);
        let actor = attacks[killer.unwrap_or(attacks.len() - 1)].character_id;
        step = step.event(&keys.events, &events::damaged(&after, now, actor, boss, &hits));
        let (mut revives, mut hint) = (None, None);
        if killer.is_some() {
            (step, revives) = self.kill(step, &after, actor, how.revives)?;
        } else {
            if template.as_ref().is_some_and(|template| template.hp_recovery > 0) {
                after.last_damage_taken_ms = self.now();
                step = step.ops(keys.arm_recovery(id, now));
            }
            if self.options.decay && !boss {
                step = step.ops(keys.arm_decay(id, now));
            }
            let new = after.spliced(before, text)?;
            hint = Hint::of(self, tenant, &after, &new);
            step = step.write(new);
        }
        match self.store.step(&step, self.by()).await? {
            Stepped::Done => {}
            Stepped::Refused(refused) if refused.is_gone() => return Err(MonsterError::NotFound),
            Stepped::Refused(_) => return Ok(None),
        }
        if let Some(revive) = revives {
            self.rise(&revive).await;
        }
        Ok(Some((blows, hint)))
    }
}

/// What goes with an attack that is decided here.
#[derive(Clone, Copy)]
struct How<'a> {
    revives: bool,
    answers: Option<&'a Pending>,
}

fn told_blows(attacks: &[Attack], blows: &[Blow]) -> impl Iterator<Item = (u32, u64)> {
    attacks.iter().zip(blows).flat_map(|(attack, blow)| {
        blow.lines.iter().map(|line| (attack.character_id, u64::from(line.actual)))
    })
}
