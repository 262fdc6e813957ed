//! Orders about one ship that change its controls, its name or what flies it.

use uuid::Uuid;

use super::{Effect, invalid, ship_name};
use crate::error::OrderError;
use crate::model::{Target, TargetKind};
use crate::physics::Vec3;
use crate::physics::hull::Mode;
use crate::world::World;

impl World {
    pub(super) fn control(
        &mut self,
        id: Uuid,
        thrust: Option<f64>,
        turn: Option<[f64; 3]>,
        shift: Option<[f64; 3]>,
    ) -> Result<(), OrderError> {
        let finite = |field, numbers: &[f64]| {
            let good = numbers.iter().all(|number| number.is_finite());
            if good { Ok(()) } else { Err(invalid(field, "must be a number")) }
        };
        finite("thrust_level", thrust.as_slice())?;
        finite("rotation_input", turn.unwrap_or_default().as_slice())?;
        finite("translation_input", shift.unwrap_or_default().as_slice())?;
        if self.ships.get(&id).is_some_and(|ship| ship.docked.is_some()) {
            return Err(OrderError::Conflict("the ship is docked; undock first"));
        }
        let Some(hull) = self.hull_mut(id) else { return Err(OrderError::Missing("ship")) };
        if let Some(thrust) = thrust {
            hull.thrust_level = thrust.clamp(0.0, 1.0);
        }
        if let Some(turn) = turn {
            hull.steer(Vec3::from_array(turn));
        }
        if let Some(shift) = shift {
            hull.translation_input = Vec3::from_array(shift).clamp(Vec3::NEG_ONE, Vec3::ONE);
        }
        Ok(())
    }

    /// Changes where the nose is kept.
    pub(super) fn point(
        &mut self,
        id: Uuid,
        mode: &str,
        target_id: Option<&str>,
        target_type: Option<&str>,
    ) -> Result<(), OrderError> {
        let mode = Mode::read(mode).ok_or_else(|| invalid("mode", "is not a mode of attitude"))?;
        let target = target_id
            .map(|target| {
                let kind = TargetKind::read(target_type.unwrap_or("body")).ok_or_else(|| {
                    invalid("target_type", "is not body, ship, station or lagrange")
                })?;
                Ok::<_, OrderError>(Target { id: target.to_owned(), kind })
            })
            .transpose()?;
        self.point_at(id, mode, target)
    }

    /// The same in our own words.
    pub(crate) fn point_at(
        &mut self,
        id: Uuid,
        mode: Mode,
        target: Option<Target>,
    ) -> Result<(), OrderError> {
        match &target {
            Some(target) => {
                self.mark(target).ok_or(OrderError::Missing("target"))?;
            }
            None if mode.needs_target() => return Err(invalid("target_id", "is missing")),
            None => {}
        }
        let ship = self.ships.get_mut(&id).ok_or(OrderError::Missing("ship"))?;
        if target.is_some() {
            ship.target = target;
        }
        let Some(hull) = self.hull_mut(id) else { return Err(OrderError::Missing("ship")) };
        if mode == Mode::Hold {
            hull.hold_here();
        } else {
            (hull.mode, hull.last_aim, hull.overridden) = (mode, None, false);
        }
        Ok(())
    }

    /// As [`World::point_at`], but what is so already stays as it is: a rule may ask in every tick.
    pub(crate) fn keep_pointing(
        &mut self,
        id: Uuid,
        mode: Mode,
        target: Option<&Target>,
    ) -> Result<(), OrderError> {
        let ship = self.ships.get(&id).ok_or(OrderError::Missing("ship"))?;
        let there = target.is_none_or(|target| ship.target.as_ref() == Some(target));
        if there && self.hull(id).is_some_and(|hull| hull.mode == mode) {
            return Ok(());
        }
        self.point_at(id, mode, target.cloned())
    }

    pub(super) fn rename(&mut self, id: Uuid, name: &str) -> Result<Effect, OrderError> {
        let name = ship_name(name)?;
        let owner = self.ships.get(&id).map(|ship| ship.player_id.clone()).unwrap_or_default();
        let taken = self
            .ships
            .iter()
            .any(|(other, ship)| *other != id && ship.player_id == owner && ship.name == name);
        if taken {
            return Err(OrderError::Conflict("you have a ship of that name already"));
        }
        let ship = self.ships.get_mut(&id).ok_or(OrderError::Missing("ship"))?;
        name.clone_into(&mut ship.name);
        Ok(Effect::Renamed(id, name.to_owned()))
    }
}
