//! Who is in a field, and whose client moves its monsters. Presence and the number of monsters a character
//! controls stand in one hash, changed by the same steps that change control.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use field::{Field, Point, Tenant};
use kernel::{Cmd, Effects as _, Op, reply};
use uuid::Uuid;

use super::fold::{Absent, Slot};
use super::{Monsters, TenantKeys};
use crate::error::{MonsterError, Result};
use crate::model::{Monster, leader};
use crate::strike::Attack;
use crate::{events, scripts};

/// An owner's puppet draws monsters nearer than this, squared.
const PUPPET_REACH: i64 = 177_777;
/// A leader who was not there is asked about again after this time, whoever let it in.
const ABSENT_MS: i64 = 1_000;

/// So many are remembered; forgetting one costs a look.
const ABSENT: usize = 10_000;

/// What an arrival brought about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entered {
    /// Whether the character was not there before.
    pub arrived: bool,
    /// Monsters it controls now.
    pub given: usize,
}

/// Who is in a field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Crowd {
    /// Character and how many monsters it controls; seen ones only.
    seen: Vec<(u32, i64)>,
    puppets: Vec<(u32, Point)>,
}

impl Crowd {
    /// Who should control a monster there: the owner of a near puppet, else who controls fewest, of equals the
    /// lowest id.
    fn candidate(&self, at: Point) -> Option<u32> {
        let near = self
            .puppets
            .iter()
            .map(|(owner, puppet)| (distance(*puppet, at), *owner))
            .filter(|(far, owner)| {
                *far < PUPPET_REACH && self.seen.iter().any(|(who, _)| who == owner)
            })
            .min();
        let fewest = || self.seen.iter().map(|(who, count)| (*count, *who)).min();
        near.map(|(_, owner)| owner).or_else(|| fewest().map(|(_, who)| who))
    }

    fn count(&mut self, who: u32, by: i64) {
        if let Some((_, count)) = self.seen.iter_mut().find(|(known, _)| *known == who) {
            *count += by;
        }
    }

    /// Everybody who is seen.
    pub(crate) fn characters(&self) -> Vec<u32> {
        self.seen.iter().map(|(who, _)| *who).collect()
    }
}

fn distance(one: Point, other: Point) -> i64 {
    let side = |a: i16, b: i16| (i64::from(a) - i64::from(b)).pow(2);
    side(one.x, other.x) + side(one.y, other.y)
}

impl Monsters {
    /// A character is in the field from now on; a hidden one controls nothing. Monsters nobody controls get a
    /// controller.
    pub async fn enter(
        &self,
        tenant: &Tenant,
        field: Field,
        character: u32,
        hidden: bool,
    ) -> Result<Entered> {
        if character == 0 {
            return Err(MonsterError::bad("characterId", "must be more than 0"));
        }
        self.ensure_scope(tenant.id).await?;
        let keys = self.of(tenant.id)?;
        let (present, unseen) = (keys.present(field)?, keys.hidden(field)?);
        let who = character.to_string();
        let flag = if hidden { "true" } else { "false" };
        let both = [present.as_bytes(), unseen.as_bytes()];
        let args = [who.as_bytes(), flag.as_bytes()];
        let answer = self.store.script(&scripts::ENTER, &both, &args, self.by()).await?;
        self.arrivals.fetch_add(1, Ordering::Relaxed);
        let arrived = reply::bytes(&answer) == Some(b"entered");
        if hidden {
            self.release(tenant, field, character, false).await?;
            return Ok(Entered { arrived, given: 0 });
        }
        let free: Vec<Monster> = self
            .list(tenant, field)
            .await?
            .monsters
            .into_iter()
            .filter(|monster| monster.control_character_id == 0 && monster.alive())
            .collect();
        let given = self.assign(&keys, field, &free, 0, false).await?;
        Ok(Entered { arrived, given: given.iter().filter(|who| **who == character).count() })
    }

    /// A character has left the field: its monsters stop and go to those who stay.
    pub async fn leave(&self, tenant: &Tenant, field: Field, character: u32) -> Result<usize> {
        let keys = self.of(tenant.id)?;
        let who = character.to_string();
        let cmds = [
            command("HDEL", keys.present(field)?.as_str(), &who),
            command("SREM", keys.hidden(field)?.as_str(), &who),
            command("HDEL", keys.puppets(field)?.as_str(), &who),
        ];
        for result in self.store.pipeline(&cmds, self.by()).await? {
            result?;
        }
        self.release(tenant, field, character, true).await
    }

    /// Gives a character's monsters to others, by the list taken before any of them is let go.
    async fn release(
        &self,
        tenant: &Tenant,
        field: Field,
        character: u32,
        left: bool,
    ) -> Result<usize> {
        let keys = self.of(tenant.id)?;
        let its: Vec<Monster> = self
            .list(tenant, field)
            .await?
            .monsters
            .into_iter()
            .filter(|monster| monster.control_character_id == character)
            .collect();
        self.assign(&keys, field, &its, character, left).await?;
        Ok(its.len())
    }

    /// Gives each monster that `from` controls (0: nobody) a controller. One that changed meanwhile is left.
    async fn assign(
        &self,
        keys: &TenantKeys,
        field: Field,
        monsters: &[Monster],
        from: u32,
        left: bool,
    ) -> Result<Vec<u32>> {
        if monsters.is_empty() {
            return Ok(Vec::new());
        }
        let mut crowd = self.crowd(keys, field).await?;
        crowd.seen.retain(|(who, _)| from == 0 || *who != from);
        let mut given = Vec::with_capacity(monsters.len());
        for monster in monsters {
            let to = crowd.candidate(monster.at).unwrap_or(0);
            if to == from {
                continue;
            }
            let changed = self
                .alter(keys.tenant, monster.unique_id, |monster| {
                    if monster.control_character_id != from {
                        return Ok((false, Vec::new()));
                    }
                    Ok((true, self.hand_over(keys, monster, to, left)?))
                })
                .await;
            match changed {
                Ok(true) => {
                    crowd.count(to, 1);
                    given.push(to);
                }
                Ok(false) | Err(MonsterError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(given)
    }

    /// The writes that go with a change of control; the monster has the new controller afterwards.
    /// Who `left` has no count any more that could go down.
    fn hand_over(
        &self,
        keys: &TenantKeys,
        monster: &mut Monster,
        to: u32,
        left: bool,
    ) -> Result<Vec<Op>> {
        let (now, from) = (self.clock.now_ms(), monster.control_character_id);
        let mut ops = keys.counted(monster.field, if left { 0 } else { from }, to)?;
        if from != 0 {
            ops = ops.event(&keys.events, &events::stop_control(monster, now, from));
        }
        monster.control_character_id = to;
        monster.controller_has_aggro = false;
        if to != 0 {
            ops = ops.event(&keys.events, &events::start_control(monster, now, to));
        }
        Ok(ops)
    }

    pub(crate) async fn crowd(&self, keys: &TenantKeys, field: Field) -> Result<Crowd> {
        let mut cmds = Vec::new();
        for (verb, key) in [
            ("HGETALL", keys.present(field)?),
            ("SMEMBERS", keys.hidden(field)?),
            ("HGETALL", keys.puppets(field)?),
        ] {
            let mut cmd = Cmd::new();
            cmd.arg(verb).arg(&key);
            cmds.push(cmd);
        }
        let mut answers = Vec::with_capacity(3);
        for answer in self.store.pipeline(&cmds, self.by()).await? {
            answers.push(answer?);
        }
        let hidden: HashSet<u32> = reply::list(&answers[1])
            .unwrap_or_default()
            .iter()
            .filter_map(|who| reply::text(who)?.parse().ok())
            .collect();
        let pairs = |at: usize| reply::pairs(&answers[at]).unwrap_or_default();
        let seen = pairs(0)
            .into_iter()
            .filter_map(|(who, count)| Some((reply::text(who)?.parse().ok()?, reply::int(count)?)))
            .filter(|(who, count)| *count >= 0 && !hidden.contains(who))
            .collect();
        let puppets = pairs(2)
            .into_iter()
            .filter_map(|(owner, at)| {
                let (x, y) = reply::text(at)?.split_once(':')?;
                let at = Point::new(x.parse().ok()?, y.parse().ok()?);
                Some((reply::text(owner)?.parse().ok()?, at))
            })
            .collect();
        Ok(Crowd { seen, puppets })
    }

    /// A puppet stands in the field, or is gone: monsters near it are given to its owner first.
    pub async fn puppet(
        &self,
        tenant: &Tenant,
        field: Field,
        owner: u32,
        at: Option<Point>,
    ) -> Result<()> {
        self.ensure_scope(tenant.id).await?;
        let key = self.of(tenant.id)?.puppets(field)?;
        let cmd = match at {
            Some(at) => {
                let mut cmd = Cmd::new();
                cmd.arg("HSET").arg(&key).arg(owner).arg(format!("{}:{}", at.x, at.y));
                cmd
            }
            None => command("HDEL", key.as_str(), &owner.to_string()),
        };
        self.store.call(&cmd, self.by()).await?;
        Ok(())
    }

    /// After a blow that did not kill: the leader of the damage gets control, when it is there to take it; else
    /// the monster turns on who has it. What is missed is made up for by the next blow.
    pub(super) async fn after_blow(&self, slot: &Slot, tenant: Uuid, id: u32, attacks: &[Attack]) {
        let arrivals = self.arrivals.load(Ordering::Relaxed);
        let (field, lead, angers) = {
            let mut state = slot.0.lock();
            let Some(hint) = &mut state.hint else { return };
            let fresh = |&(who, seen, at): &Absent, lead| {
                who == lead && seen == arrivals && self.now() - at < ABSENT_MS
            };
            let lead = leader(&hint.sums).filter(|lead| {
                if *lead == hint.control || attacks.iter().all(|a| a.character_id != *lead) {
                    return false;
                }
                if !hint.absent.is_some_and(|absent| fresh(&absent, *lead)) {
                    // It may have been looked for on account of another monster.
                    hint.absent = self.absent.lock().get(&(tenant, hint.field, *lead)).copied();
                }
                !hint.absent.is_some_and(|absent| fresh(&absent, *lead))
            });
            let angers = self.options.aggro && hint.control != 0 && !hint.aggro;
            if lead.is_none() && !angers {
                return;
            }
            (hint.field, lead, angers)
        };
        let done = self.turn(tenant, id, field, lead, angers).await;
        let mut state = slot.0.lock();
        let Some(hint) = &mut state.hint else { return };
        match done {
            Ok(Some((control, aggro))) => {
                hint.control = control;
                hint.aggro = aggro;
            }
            Ok(None) => {
                hint.absent = lead.map(|lead| (lead, arrivals, self.now()));
                if let Some(absent) = hint.absent {
                    let mut known = self.absent.lock();
                    if known.len() >= ABSENT {
                        known.clear();
                    }
                    known.insert((tenant, field, absent.0), absent);
                }
            }
            Err(error) => tracing::debug!(%error, id, "control was not looked at after a blow"),
        }
    }

    /// Controller and aggro afterwards; `None` when the leader is not there and nothing else was to do.
    async fn turn(
        &self,
        tenant: Uuid,
        id: u32,
        field: Field,
        lead: Option<u32>,
        angers: bool,
    ) -> Result<Option<(u32, bool)>> {
        let keys = self.of(tenant)?;
        let mut to = None;
        if let Some(lead) = lead {
            let who = lead.to_string();
            let cmds = [
                command("HGET", keys.present(field)?.as_str(), &who),
                command("SISMEMBER", keys.hidden(field)?.as_str(), &who),
            ];
            let answers = self.store.pipeline(&cmds, self.by()).await?;
            let number = |at: usize| answers[at].as_ref().ok().and_then(reply::int);
            if number(0).is_some_and(|count| count >= 0) && number(1) == Some(0) {
                to = Some(lead);
            } else if !angers {
                return Ok(None);
            }
        }
        let now = self.clock.now_ms();
        self.alter(tenant, id, |monster| {
            let mut ops = Vec::new();
            let leads = to.is_some() && leader(&monster.summed()) == to;
            match to.filter(|to| leads && *to != monster.control_character_id) {
                Some(to) => {
                    ops = self.hand_over(&keys, monster, to, false)?;
                    monster.controller_has_aggro = self.options.aggro;
                }
                None if angers
                    && monster.control_character_id != 0
                    && !monster.controller_has_aggro =>
                {
                    monster.controller_has_aggro = true;
                    ops = ops.event(&keys.events, &events::aggro_changed(monster, now));
                }
                None => {}
            }
            Ok((Some((monster.control_character_id, monster.controller_has_aggro)), ops))
        })
        .await
    }
}

fn command(verb: &str, key: &str, word: &str) -> Cmd {
    let mut cmd = Cmd::new();
    cmd.arg(verb).arg(key).arg(word);
    cmd
}
