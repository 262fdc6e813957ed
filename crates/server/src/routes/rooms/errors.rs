//! Refusals of the rooms as HTTP answers, and the table of their words for `docs/errors.md`.

use rooms::{Family, Refused, RoomError};
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
    let def = ErrorDef { code: refused.message, status: status(refused.error), says: "" };
    let mut details = match refused.details {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    };
    let wait = details.get("retry_after_ms").and_then(Value::as_u64);
    details.insert("family".into(), refused.error.word().into());
    let refusal = Refusal::new(def, refused.message).details(details.into());
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
        tracing::warn!(%fault, "store fault in a room");
    }
    refusal(error.refused())
}

macro_rules! words {
    ($($code:literal, $status:literal, $says:literal;)*) => {
        /// What the rooms answer beside the errors of any route.
        pub(super) const ERRORS: &[ErrorDef] =
            &[$(ErrorDef { code: $code, status: $status, says: $says }),*];
    };
}

words! {
    "room_not_found", 404, "no room has this code";
    "room_incomplete", 404, "half of the room's documents are gone; an operator may close it";
    "room_expired", 410, "its twelve hours are over";
    "invalid_field", 400, "a field is missing or of the wrong type; `details.field` names it";
    "senders_count", 400, "a room has 2 to 64 senders";
    "sender_id_invalid", 400, "sender ids are 1 to 62 of A-Z a-z 0-9 _ -";
    "sender_id_duplicate", 400, "two senders have the same id";
    "sender_name_invalid", 400, "names have 1 to 24 characters, none of them a control character";
    "reels_count_invalid", 400, "a count of reels is a whole number from 0 up";
    "too_few_active_senders", 400, "at least two senders must be active";
    "rounds_count", 400, "a room has 1 to 200 rounds";
    "round_id_invalid", 400, "round ids are 1 to 64 of A-Z a-z 0-9 _ -";
    "round_id_duplicate", 400, "two rounds have the same id";
    "round_items_count", 400, "a round has 1 to 64 items";
    "item_id_invalid", 400, "item ids are 1 to 64 of A-Z a-z 0-9 _ -";
    "item_id_duplicate", 400, "two items of a round have the same id";
    "reel_id_invalid", 400, "reel ids are 1 to 64 of A-Z a-z 0-9 _ -";
    "reel_url_invalid", 400, "a reel has an http or https address of at most 2048 characters";
    "reel_url_duplicate", 400, "a reel is played once in a room";
    "true_senders_invalid", 400, "an item has one or more distinct senders of the list";
    "k_invalid", 400, "k goes from 1 to the number of true senders";
    "round_order_invalid", 400, "the order must name every round once";
    "too_large", 413, "the room has more than 2000 items, or its body is larger than 4 MiB";
    "bad_master_key", 403, "this needs the room's master key, or an operator's token to close it";
    "busy", 409, "others kept changing the room; repeat it";
    "too_many_rooms", 429, "this address made as many rooms as it may this hour";
    "too_many_codes", 429, "this address asked for too many codes of no room";
    "too_many_sockets", 429, "this address opened as many sockets as it may this minute";
    "internal_error", 503, "the store does not answer; `details.outcome` says whether the step may have happened";
    "no_free_code", 503, "ten codes in a row were in use; repeat it";
}
