//! The controls that the pilot and the controller set on a ship. They are kept as numbers, so that
//! a tick sees without spelling them whether one of them changed.

use super::{Target, Written};
use crate::model::text;
use crate::physics::hull::Mode;
use crate::physics::{Hull, Quat, Vec3};

/// The control fields of a ship's hash.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Controls {
    rotation_input: Vec3,
    translation_input: Vec3,
    thrust_level: f64,
    hold: bool,
    mode: Mode,
    held: Option<Quat>,
    target: Option<Target>,
}

impl Controls {
    /// Of a ship as it is.
    pub(crate) fn of(hull: &Hull, target: Option<&Target>) -> Self {
        Controls {
            rotation_input: hull.rotation_input,
            translation_input: hull.translation_input,
            thrust_level: hull.thrust_level,
            hold: hull.hold,
            mode: hull.mode,
            held: kept(hull),
            target: target.cloned(),
        }
    }

    /// Whether they are still those of the ship.
    #[expect(clippy::float_cmp, reason = "what is written is what is compared")]
    pub(crate) fn are(&self, hull: &Hull, target: Option<&Target>) -> bool {
        self.thrust_level == hull.thrust_level
            && self.mode == hull.mode
            && self.hold == hull.hold
            && self.rotation_input == hull.rotation_input
            && self.translation_input == hull.translation_input
            && self.held == kept(hull)
            && self.target.as_ref() == target
    }

    /// Whether the thrusters shift the ship: only then there is a field for it.
    pub(crate) fn shift(&self) -> bool {
        self.translation_input != Vec3::ZERO
    }

    /// The fields of the hash.
    pub(crate) fn write(&self) -> Written {
        let mut out = vec![
            ("rotation_input", text::vector(self.rotation_input)),
            ("thrust_level", text::float(self.thrust_level)),
            ("attitude_hold", text::flag(self.hold).to_owned()),
            ("attitude_mode", self.mode.word().to_owned()),
        ];
        if self.shift() {
            out.push(("translation_input", text::vector(self.translation_input)));
        }
        if let Some(held) = self.held {
            let names = [
                "attitude_target_w",
                "attitude_target_x",
                "attitude_target_y",
                "attitude_target_z",
            ];
            out.extend(names.into_iter().zip(text::wxyz(held).map(text::float)));
        }
        if let Some(target) = &self.target {
            out.push(("attitude_target_id", target.id.clone()));
            out.push(("attitude_target_type", target.kind.word().to_owned()));
        }
        out
    }
}

/// The attitude that is kept, in the mode that keeps one.
fn kept(hull: &Hull) -> Option<Quat> {
    hull.held.filter(|_| hull.mode == Mode::Hold)
}
