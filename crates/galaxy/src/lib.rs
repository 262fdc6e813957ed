//! Galaxy: ships, bodies and stations of a star system, and the tick that moves them (seed 002).
//!
//! Always true: one engine ticks a world; `game:tick` is written last of each tick; an entity is in the index
//! of the system its hash names exactly while the hash exists.

mod accounts;
mod engine;
mod error;
mod events;
pub mod keys;
mod maneuver;
mod model;
pub mod physics;
mod rules;
mod said;
mod scripts;
mod snapshot;
mod store;
mod world;

pub use accounts::tokens::{BadToken, Claims, REFRESH_BEFORE_S, Signer};
pub use accounts::{Accounts, Fleet, Fleets, Player, PlayerPage, ShipRow};
pub use engine::{
    Answer, Engine, EngineState, Handle, Options, OrderRefusal, Orders, ShipView, StationView,
    WorldView, pace, send, send_asking,
};
pub use error::{
    AccountError, DockError, FleetError, GiveError, OrderError, SnapshotError, refusal,
};
pub use maneuver::{BurnState, Maneuver, ManeuverStatus, PlannedBurn};
pub use model::{Fields, StationKind, Target, TargetKind, text};
pub use rules::{Rule, RuleDraft};
pub use said::WORDINGS;
pub use snapshot::{ALARM_AFTER, SnapshotRow, SnapshotState, Snapshots};
pub use store::check::{check, reconcile};
pub use store::database::{Database, DatabaseAddress};
pub use store::fields;
pub use store::load::{Epoch, create, load};
pub use store::online::{ONLINE_BEAT, Online, OnlineChange};
pub use world::orders::{Command, Effect, Order};
pub use world::{Pace, Placement, Service, World};
