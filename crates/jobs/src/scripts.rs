//! The scripts, one constant per Lua file. Each takes `waiting` as its first key and has the names of the
//! namespace's other keys from it, which share its slot. What several of them do is in `scripts/kit/`, put
//! behind the script's own text.

use kernel::Script;

macro_rules! script {
    ($name:literal $(, $part:literal)*) => {
        Script::new(
            $name,
            concat!(
                include_str!(concat!("../scripts/", $name, ".lua"))
                $(, include_str!(concat!("../scripts/kit/", $part, ".lua")))*
            ),
        )
    };
}

pub(crate) static ENQUEUE: Script = script!("enqueue", "base", "go");
pub(crate) static PARK: Script = script!("park", "base", "ended", "go");
pub(crate) static FINISH_AND_CLAIM: Script =
    script!("finish_and_claim", "base", "ended", "finish", "claim", "go");
pub(crate) static RENEW: Script = script!("renew");
pub(crate) static PROGRESS: Script = script!("progress");
pub(crate) static RECLAIM: Script = script!("reclaim", "base", "ended", "recover", "go");
pub(crate) static RESCUE: Script = script!("rescue", "base", "ended", "recover", "go");
pub(crate) static PROMOTE: Script = script!("promote", "base", "go");
pub(crate) static FIRE_CRON: Script = script!("fire_cron", "base", "go");
pub(crate) static PUT_CRON: Script = script!("put_cron", "base", "go");
pub(crate) static STOP: Script = script!("stop", "base", "ended", "go");
pub(crate) static REVIVE: Script = script!("revive", "base", "go");
pub(crate) static PAUSE: Script = script!("pause", "base", "go");
pub(crate) static REGISTER: Script = script!("register", "base", "go");
pub(crate) static RECONCILE: Script = script!("reconcile");
pub(crate) static QUARANTINE: Script = script!("quarantine", "base", "ended", "go");
pub(crate) static SETTLE: Script = script!("settle", "base", "ended", "go");
pub(crate) static RESTATE: Script = script!("restate");
pub(crate) static TRIM_DLQ: Script = script!("trim_dlq", "base", "go");

/// All of them.
pub const SCRIPTS: &[&Script] = &[
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
    &REVIVE,
    &PAUSE,
    &REGISTER,
    &RECONCILE,
    &QUARANTINE,
    &SETTLE,
    &RESTATE,
    &TRIM_DLQ,
    &crate::scheduler::LEAD,
];

#[cfg(test)]
mod tests {
    kernel::scripts_keep_their_headers!(super::SCRIPTS, &[&crate::keys::TABLE]);
}
