//! The scripts, one constant per Lua file, with the shared parts of `scripts/includes/` in place (`build.rs`). Each takes
//! `waiting` as its first key and has the names of the namespace's other keys from it, which share its slot.

use kernel::Script;

macro_rules! script {
    ($name:literal) => {
        Script::new($name, include_str!(concat!(env!("OUT_DIR"), "/", $name, ".lua")))
    };
}

pub(crate) static DISPATCH: Script = script!("dispatch");
pub(crate) static ENQUEUE: Script = script!("enqueue");
pub(crate) static PARK: Script = script!("park");
pub(crate) static FINISH_AND_CLAIM: Script = script!("finish_and_claim");
pub(crate) static RENEW: Script = script!("renew");
pub(crate) static PROGRESS: Script = script!("progress");
pub(crate) static RECLAIM: Script = script!("reclaim");
pub(crate) static RESCUE: Script = script!("rescue");
pub(crate) static PROMOTE: Script = script!("promote");
pub(crate) static FIRE_CRON: Script = script!("fire_cron");
pub(crate) static PUT_CRON: Script = script!("put_cron");
pub(crate) static STOP: Script = script!("stop");
pub(crate) static ROTATE: Script = script!("rotate");
pub(crate) static REVIVE: Script = script!("revive");
pub(crate) static PAUSE: Script = script!("pause");
pub(crate) static REGISTER: Script = script!("register");
pub(crate) static RECONCILE: Script = script!("reconcile");
pub(crate) static QUARANTINE: Script = script!("quarantine");
pub(crate) static SETTLE: Script = script!("settle");
pub(crate) static RESTATE: Script = script!("restate");
pub(crate) static UNMARK: Script = script!("unmark");
pub(crate) static TRIM_DLQ: Script = script!("trim_dlq");

/// All of them.
pub const SCRIPTS: &[&Script] = &[
    &DISPATCH,
    &ENQUEUE,
    &PARK,
    &FINISH_AND_CLAIM,
    &RENEW,
    &PROGRESS,
    &RECLAIM,
    &RESCUE,
    &PROMOTE,
    &FIRE_CRON,
    &PUT_CRON,
    &STOP,
    &ROTATE,
    &REVIVE,
    &PAUSE,
    &REGISTER,
    &RECONCILE,
    &QUARANTINE,
    &SETTLE,
    &RESTATE,
    &UNMARK,
    &TRIM_DLQ,
    &crate::scheduler::LEAD,
];

#[cfg(test)]
mod tests {
    kernel::scripts_keep_their_headers!(super::SCRIPTS, &[&crate::keys::TABLE]);
}
