//! Refusals of the rooms as HTTP answers, and their words as a table for `docs/errors.md`.

use rooms::{Family, Refused, RoomError, WORDS, Word};
use serde_json::{Map, Value};

use crate::reply::{ErrorDef, Refusal};

/// The status of a family.
const fn status(family: Family) -> u16 {
    match family {
        Family::BadRequest => 400,
        Family::Forbidden => 403,
        Family::RoomNotFound => 404,
        Family::Conflict | Family::NotInPhase | Family::NotClaimed => 409,
        Family::RoomExpired => 410,
        Family::RateLimited => 429,
        Family::InternalError => 503,
    }
}

/// As the dialect of `/api/rooms` spells it: the family is `error`, the word is `message`.
pub(super) fn refusal(refused: Refused) -> Refusal {
    let def = ErrorDef { code: refused.message, status: status(refused.error), says: refused.says };
    let mut details = match refused.details {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    };
    let wait = details.get("retry_after_ms").and_then(Value::as_u64);
    details.insert("family".into(), refused.error.word().into());
    let refusal = Refusal::new(def, refused.says).details(details.into());
    match (wait, def.status) {
        (Some(ms), _) => refusal.retry_after(ms.div_ceil(1000)),
        (None, 503) => refusal.retry_after(1),
        _ => refusal,
    }
}

/// The same for whatever a verb returned; a fault goes to the log.
#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
pub(super) fn failed(error: RoomError) -> Refusal {
    if let RoomError::Fault(fault) = &error {
        crate::reply::tell_fault(fault);
    }
    refusal(error.refused())
}

/// As a row of the server's tables.
const fn def(word: Word) -> ErrorDef {
    ErrorDef { code: word.word, status: status(word.family), says: word.says }
}

/// What the rooms answer beside the errors of any route, and what their sockets say with the same words.
pub(super) const ERRORS: &[ErrorDef] = &{
    let mut all = [def(WORDS[0]); WORDS.len()];
    let mut at = 0;
    while at < WORDS.len() {
        all[at] = def(WORDS[at]);
        at += 1;
    }
    all
};
