//! Why the accounts refuse, with the numbers that clients know.

use crate::database::DatabaseError;
use crate::tokens::{BadToken, ShortKey};

/// A refusal, or a fault of the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// All hashing places are taken for longer than anyone should wait.
    #[error("too many people log in right now; try again in a moment")]
    Busy,
    /// Name or password; which of them is not told.
    #[error("name or password is wrong")]
    Credentials,
    /// Of a player.
    #[error(transparent)]
    Token(#[from] BadToken),
    /// Somebody has it.
    #[error("this username is taken; choose another")]
    UsernameTaken,
    /// Cannot be a name.
    #[error("username must have 3 to 20 letters, digits or underscores")]
    BadUsername,
    /// Too easy to guess, or too long to hash.
    #[error("password must have at least 8 characters and at most 1024 bytes")]
    BadPassword,
    /// Nobody has that id.
    #[error("there is no such player")]
    NoPlayer,
    /// Or not theirs.
    #[error("you have no such ship")]
    NoShip,
    /// Two ships of a player do not share a name.
    #[error("you have a ship of that name already; choose another")]
    ShipNameTaken,
    /// As many ships as one player may have.
    #[error("you have 8 ships, which is the most; give one up first")]
    FleetFull,
    /// Cannot be a name.
    #[error("name must have 1 to 32 characters")]
    BadShipName,
    /// Nobody builds that.
    #[error("ship_class is not a class; use fast_frigate or cargo_hauler")]
    BadShipClass,
    /// An admin closed it.
    #[error("registration is closed")]
    RegistrationClosed,
    /// Not one of ours.
    #[error("cursor is not one that a list gave")]
    BadCursor,
    /// At the start.
    #[error(transparent)]
    ShortKey(ShortKey),
    /// Below us.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl AccountError {
    /// The number that clients know; `None` for a fault.
    pub fn code(&self) -> Option<&'static str> {
        Some(match self {
            AccountError::Busy => "E004",
            AccountError::Credentials => "E005",
            AccountError::Token(_) => "E006",
            AccountError::UsernameTaken => "E010",
            AccountError::BadUsername => "E011",
            AccountError::BadPassword => "E012",
            AccountError::NoPlayer => "E013",
            AccountError::NoShip => "E014",
            AccountError::ShipNameTaken => "E015",
            AccountError::FleetFull => "E016",
            AccountError::BadShipName => "E017",
            AccountError::BadShipClass => "E018",
            AccountError::BadCursor => "E019",
            AccountError::RegistrationClosed => "E020",
            AccountError::ShortKey(_) | AccountError::Database(_) => return None,
        })
    }

    /// The field of the request that is to blame.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            AccountError::UsernameTaken | AccountError::BadUsername => Some("username"),
            AccountError::BadPassword => Some("password"),
            AccountError::ShipNameTaken | AccountError::BadShipName => Some("name"),
            AccountError::BadShipClass => Some("ship_class"),
            AccountError::BadCursor => Some("cursor"),
            _ => None,
        }
    }
}

impl From<sqlx::Error> for AccountError {
    fn from(error: sqlx::Error) -> Self {
        AccountError::Database(error.into())
    }
}
