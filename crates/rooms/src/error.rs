//! Refusals of the rooms, in the words of the protocol: a family (`error`) and a stable machine word
//! (`message`), never prose. What fails below is a [`Fault`]; the socket calls that `internal_error`.

use std::fmt;

use kernel::Fault;
use serde::Serialize;
use serde_json::{Value, json};

/// The nine families of `error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// No such room, or half of one.
    RoomNotFound,
    /// Its twelve hours are over.
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

/// A refusal as clients see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Refused {
    /// Which family.
    pub error: Family,
    /// A machine word; pages translate it.
    pub message: &'static str,
    /// Facts for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Refused {
    /// Without details.
    pub const fn new(error: Family, message: &'static str) -> Self {
        Refused { error, message, details: None }
    }

    /// With details.
    pub const fn with(error: Family, message: &'static str, details: Value) -> Self {
        Refused { error, message, details: Some(details) }
    }

    /// `bad_request`.
    pub const fn bad(message: &'static str) -> Self {
        Refused::new(Family::BadRequest, message)
    }

    /// `bad_request` / `invalid_field`, naming it.
    pub fn field(name: &str) -> Self {
        Refused::with(Family::BadRequest, "invalid_field", json!({ "field": name }))
    }

    /// `forbidden`.
    pub const fn forbidden(message: &'static str) -> Self {
        Refused::new(Family::Forbidden, message)
    }

    /// `conflict`.
    pub const fn conflict(message: &'static str) -> Self {
        Refused::new(Family::Conflict, message)
    }

    /// `room_not_found`.
    pub const fn not_found() -> Self {
        Refused::new(Family::RoomNotFound, "room_not_found")
    }

    /// `room_expired`.
    pub const fn expired() -> Self {
        Refused::new(Family::RoomExpired, "room_expired")
    }

    /// `not_claimed`.
    pub const fn not_claimed() -> Self {
        Refused::new(Family::NotClaimed, "not_claimed")
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
    /// As it goes to a client. A fault says nothing about its inside.
    pub fn refused(&self) -> Refused {
        match self {
            RoomError::Refused(refused) => refused.clone(),
            RoomError::Fault(Fault::Contended { .. }) => Refused::conflict("busy"),
            RoomError::Fault(fault) => {
                let outcome =
                    if matches!(fault, Fault::Unknown(_)) { "unknown" } else { "not_done" };
                let details = json!({ "outcome": outcome });
                Refused::with(Family::InternalError, "internal_error", details)
            }
        }
    }
}

/// What the verbs return.
pub type Result<T> = std::result::Result<T, RoomError>;
