//! Tries that may be guesses: so many a minute of one address, or at one account. They are counted in the store
//! (`wk:tries:<hash>`), so that several servers are no way round a limit, and addresses and names are not stored.

use kernel::{Deadline, Store};

use crate::reply::Refusal;
use crate::{tokens, wire};

/// How long a try counts; the window begins with the first.
const WINDOW_S: u64 = 60;

/// Takes one of the tries that `who` has in a minute. Gives the seconds to wait when there is none left; 0 for `most` is no
/// limit. Taken before the work it is for, so that many at once do not pass together.
pub(crate) async fn take(
    store: &dyn Store,
    who: &str,
    most: u64,
) -> Result<Result<(), u64>, Refusal> {
    if most == 0 {
        return Ok(Ok(()));
    }
    let (key, window) = (key(who), WINDOW_S.to_string());
    let cmds = [
        wire::cmd(&["INCR", &key]),
        wire::cmd(&["EXPIRE", &key, &window, "NX"]),
        wire::cmd(&["TTL", &key]),
    ];
    let replies = store.pipeline(&cmds, Deadline::after(wire::CALL)).await?;
    let numbers = replies.into_iter().map(|reply| Ok(wire::int(&reply?).unwrap_or(0)));
    let numbers = numbers.collect::<Result<Vec<i64>, kernel::Fault>>()?;
    let number = |at: usize| numbers.get(at).map_or(0, |number| number.unsigned_abs());
    if number(0) <= most {
        return Ok(Ok(()));
    }
    metrics::counter!("worldkeep_rate_limited_total").increment(1);
    Ok(Err(number(2).clamp(1, WINDOW_S)))
}

/// Gives back a try that was no guess.
pub(crate) async fn give_back(store: &dyn Store, who: &str, most: u64) -> Result<(), Refusal> {
    if most > 0 {
        let key = key(who);
        let cmds = [
            wire::cmd(&["DECR", &key]),
            // The window may have ended meanwhile: what that made new ends too.
            wire::cmd(&["EXPIRE", &key, &WINDOW_S.to_string(), "NX"]),
        ];
        store.pipeline(&cmds, Deadline::after(wire::CALL)).await?;
    }
    Ok(())
}

fn key(who: &str) -> String {
    format!("wk:tries:{}", tokens::hash(who))
}
