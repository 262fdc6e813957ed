//! Refusals of the rooms, in the words of the protocol: a family (`error`) and a stable machine word
//! (`message`), never prose. [`WORDS`] has each word once, with the sentence that people read on a terminal and in
//! `docs/errors.md`. What fails below is a [`Fault`]; the socket calls that `internal_error`.

use std::fmt;

use kernel::{Fault, RefusalDef, RefusalKind};
use serde::Serialize;
use serde_json::{Value, json};

/// The nine families of `error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// No such room, or half of one.
    RoomNotFound,
    /// The room's twelve hours are over.
    RoomExpired,
    /// The message is wrong.
    BadRequest,
    /// The caller may not.
    Forbidden,
    /// The room's state says no.
    Conflict,
    /// Not in this phase.
    NotInPhase,
    /// The device does not hold the player.
    NotClaimed,
    /// Too fast.
    RateLimited,
    /// The store is away, or a bug.
    InternalError,
}

impl Family {
    /// As on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            Family::RoomNotFound => "room_not_found",
            Family::RoomExpired => "room_expired",
            Family::BadRequest => "bad_request",
            Family::Forbidden => "forbidden",
            Family::Conflict => "conflict",
            Family::NotInPhase => "not_in_phase",
            Family::NotClaimed => "not_claimed",
            Family::RateLimited => "rate_limited",
            Family::InternalError => "internal_error",
        }
    }
}

impl Family {
    /// The kind of refusal.
    pub const fn kind(self) -> RefusalKind {
        match self {
            Family::BadRequest => RefusalKind::Invalid,
            Family::Forbidden => RefusalKind::Forbidden,
            Family::RoomNotFound => RefusalKind::Missing,
            Family::Conflict | Family::NotInPhase | Family::NotClaimed => RefusalKind::Conflict,
            Family::RoomExpired => RefusalKind::Gone,
            Family::RateLimited => RefusalKind::TooMany,
            Family::InternalError => RefusalKind::Unavailable,
        }
    }
}

/// One word of the protocol: what `message` says, under which family, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// As on the wire.
    pub word: &'static str,
    /// The `error` it comes with.
    pub family: Family,
    /// A sentence: lower case, no full stop, says what to do.
    pub says: &'static str,
}

impl Word {
    const fn def(self) -> RefusalDef {
        RefusalDef { code: self.word, kind: self.family.kind(), says: self.says }
    }
}

macro_rules! words {
    ($($name:ident = $word:literal, $family:ident, $says:literal;)*) => {
        /// The words by name: a refusal is made of one of them, so none is without its sentence.
        pub mod word {
            use super::{Family, Word};
            $(#[doc = $says] pub const $name: Word =
                Word { word: $word, family: Family::$family, says: $says };)*
        }
        /// Every word there is.
        pub const WORDS: &[Word] = &[$(word::$name),*];
        /// The same as the other modules declare theirs.
        pub const REFUSALS: &[RefusalDef] = &[$(word::$name.def()),*];
    };
}

words! {
    ROOM_NOT_FOUND = "room_not_found", RoomNotFound, "no room has this code";
    ROOM_INCOMPLETE = "room_incomplete", RoomNotFound, "half of the room's documents are gone; an operator may close it";
    ROOM_EXPIRED = "room_expired", RoomExpired, "the room's twelve hours are over";
    INVALID_JSON = "invalid_json", BadRequest, "the message is not valid JSON";
    INVALID_ENVELOPE = "invalid_envelope", BadRequest, "a message is an object with `type` and `payload`";
    BINARY_FRAME = "binary_frame", BadRequest, "a message is text; this one came in a binary frame";
    UNKNOWN_TYPE = "unknown_type", BadRequest, "no message has this type; docs/rooms.md lists them";
    INVALID_FIELD = "invalid_field", BadRequest, "a field is missing or of the wrong type; `details.field` names it";
    SENDERS_COUNT = "senders_count", BadRequest, "a room has 2 to 64 senders";
    SENDER_ID_INVALID = "sender_id_invalid", BadRequest, "sender ids are 1 to 62 of A-Z a-z 0-9 _ -";
    SENDER_ID_DUPLICATE = "sender_id_duplicate", BadRequest, "two senders have the same id";
    SENDER_NAME_INVALID = "sender_name_invalid", BadRequest, "names have 1 to 24 characters, none of them a control character";
    REELS_COUNT_INVALID = "reels_count_invalid", BadRequest, "a count of reels is a whole number from 0 up";
    TOO_FEW_ACTIVE_SENDERS = "too_few_active_senders", BadRequest, "at least two senders must be active";
    ROUNDS_COUNT = "rounds_count", BadRequest, "a room has 1 to 200 rounds";
    ROUND_ID_INVALID = "round_id_invalid", BadRequest, "round ids are 1 to 64 of A-Z a-z 0-9 _ -";
    ROUND_ID_DUPLICATE = "round_id_duplicate", BadRequest, "two rounds have the same id";
    ROUND_ITEMS_COUNT = "round_items_count", BadRequest, "a round has 1 to 64 items";
    ITEM_ID_INVALID = "item_id_invalid", BadRequest, "item ids are 1 to 64 of A-Z a-z 0-9 _ -";
    ITEM_ID_DUPLICATE = "item_id_duplicate", BadRequest, "two items of a round have the same id";
    REEL_ID_INVALID = "reel_id_invalid", BadRequest, "reel ids are 1 to 64 of A-Z a-z 0-9 _ -";
    REEL_URL_INVALID = "reel_url_invalid", BadRequest, "a reel has an http or https address of at most 2048 characters";
    REEL_URL_DUPLICATE = "reel_url_duplicate", BadRequest, "a reel is played once in a room";
    TRUE_SENDERS_INVALID = "true_senders_invalid", BadRequest, "an item has one or more distinct senders of the list";
    K_INVALID = "k_invalid", BadRequest, "k goes from 1 to the number of true senders";
    ROUND_ORDER_INVALID = "round_order_invalid", BadRequest, "the order must name every round once";
    TOO_LARGE = "too_large", BadRequest, "the room has more than 2000 items; take fewer rounds";
    CODE_MISMATCH = "code_mismatch", BadRequest, "this socket is in another room; leave the code out or open a second socket";
    UNKNOWN_PLAYER = "unknown_player", BadRequest, "the room has no such player";
    INVALID_NAME = "invalid_name", BadRequest, "a name has 1 to 24 characters, none of them a control character";
    INVALID_AVATAR = "invalid_avatar", BadRequest, "a picture is a JPEG, PNG or WebP data address within the size limit; `details.reason` says what this one is not";
    RULES_INVALID = "rules_invalid", BadRequest, "a vote lasts 5 to 600 seconds, `vote_ms` 5000 to 600000, or 0 for as long as it takes";
    SEATS_INVALID = "seats_invalid", BadRequest, "`seats` names senders of the new room and, each once, players of the old one";
    NOT_CURRENT_ITEM = "not_current_item", BadRequest, "the game plays another item now; ask for the state";
    NOT_JOINED = "not_joined", Forbidden, "this socket has not joined a room; send `JOIN_ROOM` first";
    BAD_MASTER_KEY = "bad_master_key", Forbidden, "this needs the room's master key, or an operator's token to close it";
    DEVICE_MISMATCH = "device_mismatch", Forbidden, "this socket joined as another device";
    NO_LATECOMERS = "no_latecomers", Forbidden, "the host lets nobody join late; take a free seat, or ask for one";
    NOT_MANUAL = "not_manual", Forbidden, "only players that were added by hand can be deleted";
    NOT_ENOUGH_PLAYERS = "not_enough_players", Forbidden, "a game needs at least two active players";
    UNCLAIMED_PLAYERS = "unclaimed_players", Forbidden, "some active players are not taken yet; `details.player_ids` names them";
    BUSY = "busy", Conflict, "others kept changing the room; repeat it";
    BAD_STATUS = "bad_status", Conflict, "the game is at another point, which `details.status` names; ask for the state";
    ALREADY_MOVED = "already_moved", Conflict, "the people of this room went on to another one, which `details.code` names";
    NAME_TAKEN = "name_taken", Conflict, "somebody in the room has this name already";
    ROOM_FULL = "room_full", Conflict, "the room has as many players or sockets as it may";
    NO_VOTERS = "no_voters", Conflict, "nobody holds a player, so nobody could vote";
    NOT_IN_PHASE = "not_in_phase", NotInPhase, "the room's phase, which `details.phase` names, does not allow it";
    NOT_CLAIMED = "not_claimed", NotClaimed, "this device does not hold that player";
    TOO_MANY_ROOMS = "too_many_rooms", RateLimited, "this address made as many rooms as it may this hour";
    TOO_MANY_CODES = "too_many_codes", RateLimited, "this address asked for too many codes of no room";
    TOO_MANY_MESSAGES = "too_many_messages", RateLimited, "this socket sends faster than it may; wait `details.retry_after_ms`";
    TOO_MANY_AVATARS = "too_many_avatars", RateLimited, "this device changed its picture as often as it may for now";
    TOO_MANY_RENAMES = "too_many_renames", RateLimited, "this device changed its name as often as it may for now";
    INTERNAL_ERROR = "internal_error", InternalError, "the store does not answer; wait a few seconds, ask for the state and repeat what it does not show; `details.outcome` says whether the step may have happened";
    NO_FREE_CODE = "no_free_code", InternalError, "ten codes in a row were in use; repeat it";
}

/// A refusal as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refused {
    /// Which family.
    pub error: Family,
    /// A machine word; pages translate it.
    pub message: &'static str,
    /// The word's sentence; sockets do not send it.
    #[serde(skip)]
    pub says: &'static str,
    /// Facts for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Refused {
    /// Without details.
    pub const fn new(word: Word) -> Self {
        Refused { error: word.family, message: word.word, says: word.says, details: None }
    }

    /// With details.
    pub fn with(word: Word, details: Value) -> Self {
        Refused { details: Some(details), ..Refused::new(word) }
    }

    /// `bad_request` / `invalid_field`, naming it.
    pub fn field(name: &str) -> Self {
        Refused::with(word::INVALID_FIELD, json!({ "field": name }))
    }

    /// `room_not_found`.
    pub const fn not_found() -> Self {
        Refused::new(word::ROOM_NOT_FOUND)
    }

    /// `room_expired`.
    pub const fn expired() -> Self {
        Refused::new(word::ROOM_EXPIRED)
    }

    /// `not_claimed`.
    pub const fn not_claimed() -> Self {
        Refused::new(word::NOT_CLAIMED)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.error.word(), self.message)
    }
}

impl std::error::Error for Refused {}

/// Why a verb did not do it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RoomError {
    /// The room says no; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl RoomError {
    /// Whether the room is there and nobody can play in it: it is over, or its documents are not what they were.
    pub(crate) fn is_unreadable(&self) -> bool {
        match self {
            RoomError::Refused(refused) => {
                [word::ROOM_INCOMPLETE.word, word::ROOM_EXPIRED.word].contains(&refused.message)
            }
            RoomError::Fault(fault) => matches!(fault, Fault::Corrupt { .. }),
        }
    }

    /// As it goes to a client. A fault says nothing about its inside.
    pub fn refused(&self) -> Refused {
        match self {
            RoomError::Refused(refused) => refused.clone(),
            RoomError::Fault(Fault::Contended { .. }) => Refused::new(word::BUSY),
            RoomError::Fault(fault) => {
                let outcome =
                    if matches!(fault, Fault::Unknown(_)) { "unknown" } else { "not_done" };
                let details = json!({ "outcome": outcome });
                Refused::with(word::INTERNAL_ERROR, details)
            }
        }
    }
}

/// The result of a verb.
pub type Result<T> = std::result::Result<T, RoomError>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_there_once() {
        let mut all: Vec<_> = WORDS.iter().map(|word| word.word).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), WORDS.len());
    }
}
