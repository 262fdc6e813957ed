//! Presence in a field, and whose client moves its monsters. Presence and the number of monsters a character
//! controls stand in one hash, changed by the same steps that change control.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use field::{Field, Point, Tenant};
use kernel::{Cmd, Decision, Effects as _, Step, reply};
use uuid::Uuid;

use super::change::Context;
use super::damage::AggroTurn;
use super::{Monsters, TenantKeys};
use crate::error::{MonsterError, Result};
use crate::model::{Monster, leader};
use crate::{events, scripts};

/// Characters looked for and not there: after how many arrivals, and when.
pub(super) type Absent = (u64, i64);

/// An owner's puppet draws monsters nearer than this, squared.
const PUPPET_REACH: i64 = 177_777;
/// A leader who was not there is asked about again after this time, whoever let it in.
const ABSENT_MS: i64 = 1_000;

/// The number that is remembered; forgetting one costs a look.
const ABSENT: usize = 10_000;

/// The outcome of an arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entered {
    /// Whether the character was not there before.
    pub arrived: bool,
    /// Monsters it controls now.
    pub given: usize,
}

/// The characters in a field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Crowd {
    /// Character and how many monsters it controls; seen ones only.
    seen: Vec<(u32, i64)>,
    puppets: Vec<(u32, Point)>,
}

impl Crowd {
    /// The right controller of a monster there: the owner of a near puppet, else who controls fewest, of equals the
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
            let rule = move |context: &Context, step: Step, monster: &mut Monster| {
                if monster.control_character_id != from {
                    return Ok(Decision::Leave(false));
                }
                Ok(Decision::Write(context.hand_over(step, monster, to, left)?, true))
            };
            let changed = self.alter(keys.tenant, monster.unique_id, None, rule).await;
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

    /// After a hit that did not kill: the leader of the damage gets control, when it is there to take it; else
    /// the monster turns on who has it. What is missed is made up for by the next hit.
    pub(super) async fn after_hit(&self, tenant: Uuid, id: u32, turn: AggroTurn) {
        if turn.arms && self.ensure_scope(tenant).await.is_err() {
            tracing::debug!(id, "a tenant with timers could not be listed");
        }
        let lead = turn.lead.filter(|lead| !self.is_absent(tenant, turn.field, *lead));
        if lead.is_none() && !turn.angers {
            return;
        }
        if let Err(error) = self.turn(tenant, id, AggroTurn { lead, ..turn }).await {
            tracing::debug!(%error, id, "control was not looked at after a hit");
        }
    }

    /// Whether the character was looked for a moment ago and was not there.
    fn is_absent(&self, tenant: Uuid, field: Field, character: u32) -> bool {
        let arrivals = self.arrivals.load(Ordering::Relaxed);
        let known = self.absent.lock().get(&(tenant, field, character)).copied();
        known.is_some_and(|(seen, at)| seen == arrivals && self.now() - at < ABSENT_MS)
    }

    fn note_absent(&self, tenant: Uuid, field: Field, character: u32, arrivals: u64) {
        let mut known = self.absent.lock();
        if known.len() >= ABSENT {
            known.clear();
        }
        known.insert((tenant, field, character), (arrivals, self.now()));
    }

    async fn turn(&self, tenant: Uuid, id: u32, turn: AggroTurn) -> Result<()> {
        let keys = self.of(tenant)?;
        let mut to = None;
        if let Some(lead) = turn.lead {
            let (who, arrivals) = (lead.to_string(), self.arrivals.load(Ordering::Relaxed));
            let cmds = [
                command("HGET", keys.present(turn.field)?.as_str(), &who),
                command("SISMEMBER", keys.hidden(turn.field)?.as_str(), &who),
            ];
            let answers = self.store.pipeline(&cmds, self.by()).await?;
            let number = |at: usize| answers[at].as_ref().ok().and_then(reply::int);
            if number(0).is_some_and(|count| count >= 0) && number(1) == Some(0) {
                to = Some(lead);
            } else {
                self.note_absent(tenant, turn.field, lead, arrivals);
                if !turn.angers {
                    return Ok(());
                }
            }
        }
        let angers = turn.angers;
        self.alter(tenant, id, None, move |context, step, monster| {
            context.turn(step, monster, to, angers)
        })
        .await
    }
}

/// Rules of control.
impl Context {
    /// Gives the monster to another controller; 0 is nobody. Who `left` has no count any more that could go
    /// down.
    fn hand_over(&self, step: Step, monster: &mut Monster, to: u32, left: bool) -> Result<Step> {
        let (events, from) = (&self.keys.events, monster.control_character_id);
        let mut step =
            step.ops(self.keys.counted(monster.field, if left { 0 } else { from }, to)?);
        if from != 0 {
            step = step.event(events, &events::stop_control(monster, self.now_ms, from));
        }
        monster.control_character_id = to;
        monster.controller_has_aggro = false;
        if to != 0 {
            step = step.event(events, &events::start_control(monster, self.now_ms, to));
        }
        Ok(step)
    }

    /// Control for the leader of the damage, if it still leads; else anger at who has it.
    fn turn(
        &self,
        step: Step,
        monster: &mut Monster,
        to: Option<u32>,
        angers: bool,
    ) -> Result<Decision<()>> {
        let leads = to.is_some() && leader(monster.damage_entries.sums()) == to;
        if let Some(to) = to.filter(|to| leads && *to != monster.control_character_id) {
            let step = self.hand_over(step, monster, to, false)?;
            monster.controller_has_aggro = self.options.aggro;
            return Ok(Decision::Write(step, ()));
        }
        if !angers || monster.control_character_id == 0 || monster.controller_has_aggro {
            return Ok(Decision::Leave(()));
        }
        monster.controller_has_aggro = true;
        let told = events::aggro_changed(monster, self.now_ms);
        Ok(Decision::Write(step.event(&self.keys.events, &told), ()))
    }
}

fn command(verb: &str, key: &str, word: &str) -> Cmd {
    let mut cmd = Cmd::new();
    cmd.arg(verb).arg(key).arg(word);
    cmd
}
