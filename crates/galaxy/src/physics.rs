//! The physics of motion: bodies that pull each other, craft that are pulled, hulls that turn and
//! burn.
//!
//! No key, no clock and no randomness is known here. The same start and the same inputs give the
//! same bits, on one thread or many: every craft is computed alone, in a fixed order of operations.
//! Units are metres, seconds, kilograms and radians; axes are the mean ecliptic and equinox of
//! J2000.

pub mod aim;
pub mod attitude;
pub mod bodies;
pub mod classes;
pub mod encounter;
pub mod fleet;
pub mod hull;
pub mod kepler;
mod lanes;
pub mod orbit;
pub mod solar;

pub use bodies::{Bodies, Frame, Track};
pub use classes::ShipClass;
pub use fleet::{Craft, CraftId, Fleet};
pub use hull::Hull;

/// A place or a direction.
pub type Vec3 = glam::DVec3;
/// A rotation. Stored as `[w, x, y, z]`; `glam` keeps w last.
pub type Quat = glam::DQuat;

/// Newton's constant, for bodies of which only the mass is known.
pub const G: f64 = 6.674_30e-11;
/// Standard gravity: turns a specific impulse into an exhaust speed.
pub const G0: f64 = 9.806_65;
/// The longest step of the integrators.
pub const LONGEST_STEP_S: f64 = 0.5;

/// How many steps of equal length a stretch of time takes.
pub fn steps(dt_s: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a tick is at most 1000 s: 2000 steps"
    )]
    let steps = (dt_s / LONGEST_STEP_S).ceil() as usize;
    steps.max(1)
}
