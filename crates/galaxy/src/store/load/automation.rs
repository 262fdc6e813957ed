//! Rules and maneuvers of the ships that were found.

use std::sync::Arc;

use kernel::{Deadline, Fault, Value, reply};
use uuid::Uuid;

use super::{AT_ONCE, PATIENCE, Reader};
use crate::maneuver::Maneuver;
use crate::model::Unusable;
use crate::rules::Rule;
use crate::store::{cmd, fields};
use crate::world::World;

/// Gives each ship its rules and its maneuver. A rule that cannot be read stays, disabled; a maneuver is set aside.
pub(super) async fn load(
    reader: &Reader<'_>,
    world: &mut World,
    aside: &mut Vec<(String, Unusable)>,
) -> Result<(), Fault> {
    let ids: Vec<Uuid> = world.ships.keys().copied().collect();
    for part in ids.chunks(AT_ONCE) {
        let mut gets = Vec::with_capacity(2 * part.len());
        for id in part {
            let (Ok(rules), Ok(maneuver)) = (reader.keys.rules(*id), reader.keys.maneuver(*id))
            else {
                continue;
            };
            gets.push(cmd(&["SMEMBERS", rules.as_str()]));
            gets.push(cmd(&["HGETALL", maneuver.as_str()]));
        }
        let answers = reader.store.pipeline(&gets, Deadline::after(PATIENCE)).await?;
        let mut answers = answers.into_iter();
        let mut named = Vec::new();
        for id in part {
            let (Some(rules), Some(maneuver)) = (answers.next(), answers.next()) else { break };
            named.extend(ids_of(&rules?).into_iter().map(|rule| (*id, rule)));
            if let Some(bad) = take_maneuver(world, *id, &maneuver?) {
                let key = reader.keys.maneuver(*id).map(|key| key.as_str().to_owned());
                aside.push((key.unwrap_or_default(), bad));
            }
        }
        load_rules(reader, world, &named).await?;
    }
    Ok(())
}

fn ids_of(members: &Value) -> Vec<Uuid> {
    let members = reply::list(members).unwrap_or_default();
    members.iter().filter_map(|member| reply::text(member)?.parse().ok()).collect()
}

fn take_maneuver(world: &mut World, id: Uuid, answer: &Value) -> Option<Unusable> {
    let found = fields(answer);
    if found.is_empty() {
        return None;
    }
    let system = world.system;
    match Maneuver::read(&found, |name| system.find(name)) {
        Ok(maneuver) => {
            if let Some(ship) = world.ships.get_mut(&id) {
                if let Some(stored) = &mut ship.stored {
                    stored.maneuver = Some(maneuver.clone());
                }
                ship.maneuver = Some(maneuver);
            }
            None
        }
        Err(why) => Some(why),
    }
}

async fn load_rules(
    reader: &Reader<'_>,
    world: &mut World,
    named: &[(Uuid, Uuid)],
) -> Result<(), Fault> {
    for part in named.chunks(AT_ONCE) {
        let keyed: Vec<_> = part
            .iter()
            .filter_map(|(ship, rule)| Some((*ship, *rule, reader.keys.rule(*ship, *rule).ok()?)))
            .collect();
        let gets: Vec<_> =
            keyed.iter().map(|(_, _, key)| cmd(&["HGETALL", key.as_str()])).collect();
        let answers = reader.store.pipeline(&gets, Deadline::after(PATIENCE)).await?;
        for ((ship, rule, _), answer) in keyed.iter().zip(answers) {
            let found = fields(&answer?);
            if found.is_empty() {
                continue;
            }
            let read = Rule::read(*rule, &found);
            if read.broken.is_some() && found.get("enabled").is_none_or(|flag| flag != "false") {
                world.broken.push((*ship, *rule));
            }
            if let Some(ship) = world.ships.get_mut(ship) {
                Arc::make_mut(&mut ship.rules).push(read);
            }
        }
    }
    for ship in world.ships.values_mut().filter(|ship| ship.rules.len() > 1) {
        Arc::make_mut(&mut ship.rules).sort_by(Rule::before);
    }
    Ok(())
}
