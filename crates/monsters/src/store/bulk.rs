//! Many monsters in one call, as a game server ticks them. Each has its own answer, and one that is refused stops no
//! other. All of a call goes to the store together: a spawn is one script, a read one pipeline, and the steps of moves
//! are sent without waiting for one another, so that the connection carries them in one round trip. A monster that
//! this server has not seen costs one more, in which all such are read.

use field::{Field, Tenant};
use futures_util::future::join_all;

use super::spawn::Spawned;
use super::{Monsters, Move, Spawn};
use crate::error::{MonsterError, Result};
use crate::model::Monster;

/// One call is about no more monsters: the store does other work between calls.
pub const MOST_AT_ONCE: usize = 1_000;

fn few_enough(many: usize) -> Result<()> {
    if many > MOST_AT_ONCE {
        return Err(MonsterError::bad("data", format!("may have at most {MOST_AT_ONCE} items")));
    }
    Ok(())
}

impl Monsters {
    /// Monsters by id, each with its own answer. At most [`MOST_AT_ONCE`].
    pub async fn get_all(&self, tenant: &Tenant, ids: &[u32]) -> Result<Vec<Result<Monster>>> {
        few_enough(ids.len())?;
        self.read_all(tenant.id, ids).await
    }

    /// Moves many monsters, each with its own answer, by the rule of [`Monsters::movement`]. Moves of one monster
    /// take effect in their order. At most [`MOST_AT_ONCE`].
    pub async fn move_all(
        &self,
        tenant: &Tenant,
        moves: &[(u32, Move)],
    ) -> Result<Vec<Result<Monster>>> {
        few_enough(moves.len())?;
        Ok(join_all(moves.iter().map(|(id, to)| self.movement(tenant, *id, *to))).await)
    }

    /// Spawns many monsters in one field, each with its own answer: one whose template is not known is refused, and
    /// the others come. At most [`MOST_AT_ONCE`].
    pub async fn spawn_many(
        &self,
        tenant: &Tenant,
        field: Field,
        spawns: &[Spawn],
    ) -> Result<Vec<Result<Monster>>> {
        few_enough(spawns.len())?;
        let known = |spawn: &&Spawn| self.template(spawn.monster_id).is_some();
        let good: Vec<Spawn> = spawns.iter().filter(known).cloned().collect();
        let born = match good.as_slice() {
            [] => Vec::new(),
            good => match self.spawn_all(tenant, field, good, 0, None).await? {
                Spawned::Born(born) => born,
                Spawned::Full | Spawned::Lost => return Err(MonsterError::NotFound),
            },
        };
        let mut born = born.into_iter();
        let each = spawns.iter().map(|spawn| {
            let unknown = MonsterError::UnknownTemplate(spawn.monster_id);
            if known(&spawn) { born.next().ok_or(MonsterError::NotFound) } else { Err(unknown) }
        });
        Ok(each.collect())
    }
}
