//! Reactors: breakable, timed, item-triggered objects of a map (seed 000).
//!
//! Always true: each live id is in `reactors:all` and in exactly one field's set; a set's name matches the
//! values of its members; with the guard on, a spot has at most one live reactor; one `DESTROYED` per `CREATED`.
//!
//! [`Reactors`] has the verbs. A change of state, its indexes, its timer and its events are one step of the
//! store; what a step decides is in [`machine`], which knows no store.

mod error;
mod events;
pub mod keys;
pub mod machine;
mod model;
mod scripts;
mod store;
mod template;

pub use error::{ReactorError, refusal};
pub use machine::{HitPolicy, PersistRule, Rules};
pub use model::{Data, Item, Reaction, Reactor, State};
pub use scripts::SCRIPTS;
pub use store::{Created, Drop, Hit, Listing, New, Reactors, Struck};
pub use template::{ReactorTemplate, SHIPPED, Templates, file_kinds};
