//! The standing of an engine towards the world, said once per change: in the log, and to everybody
//! who looks.

use std::sync::Arc;

use kernel::{Fault, Said};

use super::Engine;
use crate::said;

/// How an engine stands to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineState {
    /// It does not run.
    #[default]
    Off,
    /// It looks for the world.
    Looks,
    /// It ticks the world.
    Leads,
    /// Another engine ticks the world.
    Follows,
    /// There is no world to tick.
    NoWorld,
    /// The store lost the world that its database knows.
    Emptied,
    /// The store belongs to another database.
    Foreign,
    /// The store does not answer as it should.
    Fails,
}

impl EngineState {
    /// The alarm for an operator, with what to do, when the world cannot be ticked for a reason
    /// that does not pass.
    pub fn alarm(self) -> Option<Said> {
        match self {
            EngineState::Emptied => Some(said::EMPTIED.say()),
            EngineState::Foreign => Some(said::FOREIGN.say()),
            _ => None,
        }
    }
}

impl Engine {
    /// Says how it stands, when that is new.
    pub(super) fn stand(&self, standing: EngineState, fault: Option<&Fault>) {
        let before = self.seen.borrow().standing;
        if before == standing {
            return;
        }
        match (standing, fault) {
            (EngineState::Looks, _) if before == EngineState::Leads => {
                tracing::warn!("the lock of the engine was lost; it looks for the world again");
            }
            (EngineState::Follows, _) => tracing::info!("another engine ticks this world"),
            (EngineState::NoWorld, _) => {
                tracing::warn!(
                    "there is no world in this store; make one: `worldkeep galaxy init`"
                );
            }
            (EngineState::Fails, Some(fault)) => tracing::warn!(%fault, "the engine starts over"),
            // The first look at the world, which follows, shows that it leads.
            (EngineState::Leads, _) => return tracing::info!("this engine ticks the world"),
            _ => {}
        }
        if let Some(alarm) = standing.alarm() {
            tracing::error!("{}", alarm.sentence());
        }
        self.seen.send_modify(|seen| {
            let seen = Arc::make_mut(seen);
            (seen.standing, seen.leads) = (standing, standing == EngineState::Leads);
        });
    }
}
