//! The scripts, one constant per Lua file. Each takes `waiting` as its first key and has the names of the
//! namespace's other keys from it, which share its slot. What several of them do is in `scripts/kit/`, put
//! behind the script's own text; what a hot one needs rarely stands between `later` and `so_far`, because making
//! a function costs time at every call.

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

pub(crate) static DISPATCH: Script = script!("dispatch");
pub(crate) static ENQUEUE: Script = script!("enqueue", "tell", "later", "base", "so_far", "go");
pub(crate) static PARK: Script = script!("park", "tell", "base", "close", "ended", "go");
pub(crate) static FINISH_AND_CLAIM: Script = script!(
    "finish_and_claim",
    "tell",
    "close",
    "later",
    "base",
    "ended",
    "finish",
    "claim",
    "so_far",
    "go"
);
pub(crate) static RENEW: Script = script!("renew");
pub(crate) static PROGRESS: Script = script!("progress");
pub(crate) static RECLAIM: Script =
    script!("reclaim", "tell", "base", "close", "ended", "recover", "go");
pub(crate) static RESCUE: Script =
    script!("rescue", "tell", "base", "close", "ended", "recover", "go");
pub(crate) static PROMOTE: Script = script!("promote", "tell", "base", "go");
pub(crate) static FIRE_CRON: Script = script!("fire_cron", "tell", "base", "go");
pub(crate) static PUT_CRON: Script = script!("put_cron", "tell", "base", "go");
pub(crate) static STOP: Script = script!("stop", "tell", "base", "close", "ended", "go");
pub(crate) static ROTATE: Script = script!("rotate", "tell", "base", "go");
pub(crate) static REVIVE: Script = script!("revive", "tell", "base", "go");
pub(crate) static PAUSE: Script = script!("pause", "tell", "base", "go");
pub(crate) static REGISTER: Script = script!("register", "tell", "base", "go");
pub(crate) static RECONCILE: Script = script!("reconcile");
pub(crate) static QUARANTINE: Script =
    script!("quarantine", "tell", "base", "close", "ended", "go");
pub(crate) static SETTLE: Script = script!("settle", "tell", "base", "close", "ended", "go");
pub(crate) static RESTATE: Script = script!("restate");
pub(crate) static UNMARK: Script = script!("unmark");
pub(crate) static TRIM_DLQ: Script = script!("trim_dlq", "tell", "base", "go");

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
