//! Refusals of the galaxy: accounts, orders, docking, snapshots. A refusal that clients know by
//! number says it.

use kernel::{Fault, RefusalDef, Refuses};

use crate::accounts::tokens::{BadToken, ShortKey};
use crate::engine::OrderRefusal;
use crate::model::Unusable;
use crate::store::database::DatabaseError;

/// The refusals that a caller may hear, with what to do: numbers where the protocol has them, words elsewhere.
pub mod refusal {
    kernel::refusals! {
        NO_WORLD = "no_world", Missing, "there is no world in this store yet; make one with `worldkeep galaxy init`";
        WORLD_LOST = "world_lost", Unavailable, "the store has lost the world that its database knows, or belongs to another database; the message says what to do";
        TOO_OFTEN = "E004", TooMany, "too many tries to log in or register from this address, or too many wrong passwords for this account; wait `Retry-After` seconds";
        BAD_LOGIN = "E005", Unauthorized, "the username or the password is wrong";
        BAD_JWT = "E006", Unauthorized, "the player's token is not valid or has ended; log in again";
        NAME_TAKEN = "E010", Conflict, "the username is taken; choose another";
        BAD_USERNAME = "E011", Invalid, "a username has 3 to 20 letters, digits or underscores";
        BAD_PASSWORD = "E012", Invalid, "a password has at least 8 characters";
        NO_PLAYER = "E013", Missing, "there is no such player";
        NO_SHIP = "E014", Missing, "there is no such ship, or it is not yours";
        SHIP_NAME_TAKEN = "E015", Conflict, "you have a ship of that name already";
        FLEET_FULL = "E016", Conflict, "a player has at most 8 ships";
        BAD_SHIP_NAME = "E017", Invalid, "a ship's name has 1 to 32 characters";
        BAD_SHIP_CLASS = "E018", Invalid, "ship_class is not a class";
        BAD_PLAYERS_CURSOR = "E019", Invalid, "the cursor is not one that a list of players gave";
        REGISTRATION_CLOSED = "E020", Forbidden, "registration is closed; ask whoever runs the game";
        ALREADY_DOCKED = "E030", Conflict, "the ship is docked already; undock first";
        NOT_DOCKED = "E031", Conflict, "the ship is not docked";
        TOO_FAR = "E032", Conflict, "the station is too far away; come within 500 m";
        TOO_FAST = "E033", Conflict, "the ship is too fast for the station; slow down to 5 m/s";
        NO_STATION = "E034", Missing, "there is no such station";
        NO_TRANSIT = "E040", Conflict, "jump gates do not carry ships to other systems yet";
    }
}

/// Why the accounts refuse.
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

impl Refuses for AccountError {
    fn def(&self) -> Option<RefusalDef> {
        Some(match self {
            AccountError::Busy => refusal::TOO_OFTEN,
            AccountError::Credentials => refusal::BAD_LOGIN,
            AccountError::Token(_) => refusal::BAD_JWT,
            AccountError::UsernameTaken => refusal::NAME_TAKEN,
            AccountError::BadUsername => refusal::BAD_USERNAME,
            AccountError::BadPassword => refusal::BAD_PASSWORD,
            AccountError::NoPlayer => refusal::NO_PLAYER,
            AccountError::NoShip => refusal::NO_SHIP,
            AccountError::ShipNameTaken => refusal::SHIP_NAME_TAKEN,
            AccountError::FleetFull => refusal::FLEET_FULL,
            AccountError::BadShipName => refusal::BAD_SHIP_NAME,
            AccountError::BadShipClass => refusal::BAD_SHIP_CLASS,
            AccountError::BadCursor => refusal::BAD_PLAYERS_CURSOR,
            AccountError::RegistrationClosed => refusal::REGISTRATION_CLOSED,
            AccountError::ShortKey(_) | AccountError::Database(_) => return None,
        })
    }

    fn field(&self) -> Option<&str> {
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

/// Why a change of a player's fleet did not work.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The accounts say no.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The engine says no.
    #[error("{}", .0.message)]
    Order(OrderRefusal),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl FleetError {
    /// Whether the world does not have what the order was about.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, FleetError::Order(told) if told.code == "not_found")
    }
}

impl From<GiveError> for FleetError {
    fn from(error: GiveError) -> Self {
        match error {
            GiveError::Refused(told) => FleetError::Order(told),
            GiveError::Fault(fault) => FleetError::Fault(fault),
        }
    }
}

/// Why an order is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OrderError {
    /// A value cannot be.
    #[error("{field} {reason}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// The reason.
        reason: String,
    },
    /// The ship is somebody else's.
    #[error("this ship is not yours")]
    NotYours,
    /// The thing that the order is about does not exist.
    #[error("there is no such {0}")]
    Missing(&'static str),
    /// Not while things are as they are.
    #[error("{0}")]
    Conflict(&'static str),
    /// A station says no.
    #[error(transparent)]
    Docking(#[from] DockError),
    /// E040.
    #[error("jump gates do not carry ships to other systems yet")]
    NoTransit,
    /// It was not carried out, because the engine that was asked does not lead.
    #[error("no engine ticks here now; try again")]
    Away,
    /// Nobody knows whether it was stored.
    #[error("the order was not confirmed in time; look before you repeat it")]
    Unconfirmed,
}

impl OrderError {
    /// The number clients know, where there is one.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            OrderError::Docking(refused) => Some(refused.code()),
            OrderError::NoTransit => Some(refusal::NO_TRANSIT.code),
            _ => None,
        }
    }
}

impl From<Unusable> for OrderError {
    fn from(bad: Unusable) -> Self {
        OrderError::Invalid { field: bad.field, reason: bad.reason }
    }
}

/// Why a station refuses a ship.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DockError {
    /// E030.
    #[error("the ship is docked already; undock first")]
    AlreadyDocked,
    /// E031.
    #[error("the ship is not docked")]
    NotDocked,
    /// E032.
    #[error("the station is {0:.0} m away; come within 500 m")]
    TooFar(f64),
    /// E033.
    #[error("the ship moves at {0:.1} m/s against the station; slow down to 5 m/s")]
    TooFast(f64),
    /// E034.
    #[error("there is no such station")]
    NoStation,
    /// No ship of that id.
    #[error("there is no such ship")]
    NoShip,
}

impl DockError {
    /// The number clients know.
    pub fn code(&self) -> &'static str {
        match self {
            DockError::AlreadyDocked => refusal::ALREADY_DOCKED.code,
            DockError::NotDocked => refusal::NOT_DOCKED.code,
            DockError::TooFar(_) => refusal::TOO_FAR.code,
            DockError::TooFast(_) => refusal::TOO_FAST.code,
            DockError::NoStation => refusal::NO_STATION.code,
            DockError::NoShip => refusal::NO_SHIP.code,
        }
    }
}

/// Why an order is not done.
#[derive(Debug, thiserror::Error)]
pub enum GiveError {
    /// The engine says no.
    #[error("{}", .0.message)]
    Refused(OrderRefusal),
    /// The store failed, or nobody confirmed the order in time: the fault says whether it may have happened.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<OrderError> for GiveError {
    fn from(why: OrderError) -> Self {
        match why {
            OrderError::Unconfirmed => Fault::Unknown(why.to_string()).into(),
            OrderError::Away => Fault::Unavailable(why.to_string()).into(),
            why => GiveError::Refused(OrderRefusal::from(&why)),
        }
    }
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Not in the database.
    #[error("there is no snapshot {0}")]
    Missing(i64),
    /// Nothing to keep, or nothing to go back to.
    #[error("the snapshot is unusable: {0}")]
    Unusable(String),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<sqlx::Error> for SnapshotError {
    fn from(error: sqlx::Error) -> Self {
        SnapshotError::Database(error.into())
    }
}

/// Why a database cannot be used with a store.
#[derive(Debug, thiserror::Error)]
pub enum TieError {
    /// The store's accounts are somewhere else.
    #[error(
        "the accounts of this store are in another database (last used: {last}), not in {here}; name the \
         directory of that one with --data, or use one PostgreSQL for all servers with galaxy.database_url"
    )]
    Elsewhere {
        /// The database with which the store was used last.
        last: String,
        /// The database that was named.
        here: String,
    },
    /// The database's ships are somewhere else.
    #[error(
        "the database {here} belongs to another store than this one, whose accounts are in {last}; name the \
         database of this store with --data or galaxy.database_url, or the store of this database with --redis"
    )]
    Foreign {
        /// The database with which the store was used last.
        last: String,
        /// The database that was named.
        here: String,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The store failed.
    #[error(transparent)]
    Fault(#[from] Fault),
}
