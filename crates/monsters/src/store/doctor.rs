//! The part of the check that no single key can tell: how many monsters each character present controls. A count
//! is looked at twice before it is believed wrong, and put right only while field and count are as they were seen.

use std::collections::HashMap;

use field::{Field, Tenant};
use kernel::check::{Finding, Trouble};
use kernel::{Cmd, Effects as _, Fault, Step, reply};
use uuid::Uuid;

use super::Monsters;
use super::remove::place;
use crate::error::{MonsterError, Result};
use crate::keys::def;

/// The sentences of the check.
mod said {
    kernel::wordings! {
        MISCOUNTED = "monsters.miscounted",
            "character {character} controls one monster here, and {counted} are counted",
            "character {character} controls {n} monsters here, and {counted} are counted";
    }
}
pub use said::WORDINGS;

/// One count that is not what the field says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Miscount {
    character: String,
    says: String,
    controls: u32,
}

impl Monsters {
    /// Counts anew what each character present controls; with `repair`, what is wrong is set right.
    pub async fn doctor(&self, repair: bool) -> Result<Vec<Finding>> {
        let mut found = Vec::new();
        for values in self.scan(&def::present, &[]).await? {
            let Some((tenant, field)) = place(&values) else { continue };
            let first = self.miscounts(tenant, field).await?;
            if first.is_empty() {
                continue;
            }
            // Monsters come, fall and change hands meanwhile: only what is wrong twice in the same way is wrong.
            let again = self.miscounts(tenant, field).await?;
            for one in again.iter().filter(|one| first.contains(one)) {
                let key = self.of(tenant)?.present(field)?;
                let wrong = said::MISCOUNTED.say().with("character", one.character.as_str());
                let wrong = wrong.with("n", one.controls).with("counted", one.says.as_str());
                let mut finding =
                    Finding::of(Trouble::Miscounted, &def::present, key.as_bytes(), wrong);
                finding.entry = Some(one.character.clone());
                finding.repaired = repair && self.recount(tenant, field, one).await?;
                found.push(finding);
            }
        }
        Ok(found)
    }

    async fn miscounts(&self, tenant: Uuid, field: Field) -> Result<Vec<Miscount>> {
        let key = self.of(tenant)?.present(field)?;
        let answer = self.store.call(Cmd::new().arg("HGETALL").arg(&key), self.by()).await;
        // A key of another type is the walk's to tell.
        let Ok(answer) = answer else { return Ok(Vec::new()) };
        let counts = reply::pairs(&answer).unwrap_or_default();
        let mut controls: HashMap<u32, u32> = HashMap::new();
        let listed = match self.list(&Tenant::of(tenant), field).await {
            // So is a field's list of another type.
            Err(MonsterError::Fault(Fault::Refused { .. })) => return Ok(Vec::new()),
            listed => listed?,
        };
        for monster in listed.monsters {
            *controls.entry(monster.control_character_id).or_default() += 1;
        }
        let wrong = counts.into_iter().filter_map(|(who, says)| {
            let (who, says) = (reply::text(who)?, reply::text(says)?);
            let controls = controls.get(&who.parse().ok()?).copied().unwrap_or(0);
            (says != controls.to_string()).then(|| Miscount {
                character: who.to_owned(),
                says: says.to_owned(),
                controls,
            })
        });
        Ok(wrong.collect())
    }

    /// Sets a count, if it still says what was found wrong.
    async fn recount(&self, tenant: Uuid, field: Field, wrong: &Miscount) -> Result<bool> {
        let key = self.of(tenant)?.present(field)?;
        let step = Step::new(&key).while_field(&key, &wrong.character, &wrong.says);
        let step = step.hset(&key, &wrong.character, wrong.controls.to_string());
        Ok(self.store.step(&step, self.by()).await?.is_done())
    }
}
