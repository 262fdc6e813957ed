//! Refusals of the rooms as HTTP answers.

use kernel::RefusalDef;
use rooms::{Refused, RoomError};
use serde_json::{Map, Value};

use crate::reply::{ErrorDef, Refusal};

/// As the dialect of `/api/rooms` spells it: the family is `error`, the word is `message`.
pub(super) fn refusal(refused: Refused) -> Refusal {
    let (code, says) = (refused.message, refused.says);
    let def = ErrorDef::from(RefusalDef { code, kind: refused.error.kind(), says });
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
