//! The writes that bring `maneuver:{ship}` from its stored state to the maneuver that is flown.

use kernel::Cmd;

use crate::maneuver::Maneuver;
use crate::store::cmd;

/// `known` says whether `was` is what the store holds; when nobody knows, everything is written.
pub(crate) fn writes(
    key: &str,
    known: bool,
    was: Option<&Maneuver>,
    now: Option<&Maneuver>,
    body_name: impl Fn(usize) -> &'static str,
) -> Vec<Cmd> {
    let Some(now) = now else { return vec![cmd(&["DEL", key])] };
    // Another one has other fields: nothing of the one before may stay.
    let same = was
        .filter(|was| was.started_tick == now.started_tick && was.plan.word() == now.plan.word());
    let mut out = Vec::new();
    if same.is_none() && (was.is_some() || !known) {
        out.push(cmd(&["DEL", key]));
    }
    let old = same.map(|was| was.write(&body_name)).unwrap_or_default();
    let mut hash = cmd(&["HSET", key]);
    for pair in now.write(&body_name).iter().filter(|pair| !old.contains(pair)) {
        hash.arg(pair.0).arg(&pair.1);
    }
    out.push(hash);
    out
}
