//! One tick of the world, after its orders were given: targets, motion, surfaces, docks, fuel.

use uuid::Uuid;

use crate::physics::hull::Mode;
use crate::physics::{Craft, CraftId, Vec3};
use crate::rules::{Alert, Automated};
use crate::world::{Moved, World, dock};

/// The events of a tick.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stepped {
    /// Ships whose state would have left the numbers; they stay where they were.
    pub not_finite: Vec<Uuid>,
    /// Ships that touched a surface in this tick, with the body.
    pub touched: Vec<(Uuid, String)>,
    /// Alerts of rules to pilots.
    pub alerts: Vec<Alert>,
    /// Rules that disabled themselves or were disabled by another: ship and rule.
    pub disabled: Vec<(Uuid, Uuid)>,
    /// Ships whose maneuver ended in this tick.
    pub ended: Vec<Uuid>,
}

impl World {
    /// Advances by `dt_ns` of game time.
    pub fn step(&mut self, dt_ns: i64) -> Stepped {
        self.step_on(dt_ns, true)
    }

    /// The same; `shared` when there are cores with nothing else to do. The outcome is the same to the bit.
    pub fn step_on(&mut self, dt_ns: i64, shared: bool) -> Stepped {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53: a tick is at most 1000 s")]
        let dt_s = dt_ns as f64 / 1e9;
        self.moved = Moved::All;
        let Automated { alerts, disabled } = self.automate();
        self.fly_maneuvers(dt_s);
        self.aim();
        let before = self.places();
        let track = self.bodies.advance(dt_s);
        self.fleet.advance_on(self.bodies.gm(), &track, shared);
        let not_finite = self.mend(&before);
        let mut stepped = Stepped { not_finite, alerts, disabled, ..Stepped::default() };
        self.fleet.change_spheres(self.system, &self.bodies);
        stepped.touched = self.touch_ground();
        self.lock_docked();
        self.refuel(dt_s);
        self.tick += 1;
        self.time_ns += i128::from(dt_ns);
        stepped.ended = self.settle_maneuvers();
        stepped
    }

    /// Tells each hull what it looks at; a target that is gone turns into holding still.
    fn aim(&mut self) {
        let aimed: Vec<_> = self
            .ships
            .values()
            .filter(|ship| self.fleet.hull(ship.craft).is_some_and(|hull| hull.mode.needs_target()))
            .map(|ship| (ship.craft, ship.target.as_ref().and_then(|target| self.mark(target))))
            .collect();
        for (craft, mark) in aimed {
            let Some(hull) = self.fleet.hull_mut(craft) else { continue };
            match mark {
                Some(mark) => hull.mark = Some(mark),
                None => hull.hold_here(),
            }
        }
    }

    fn places(&self) -> Vec<(CraftId, Craft)> {
        let crafts = self.ships.values().map(|ship| ship.craft);
        crafts
            .chain(self.stations.values().map(|station| station.craft))
            .filter_map(|craft| Some((craft, self.fleet.craft(craft)?)))
            .collect()
    }

    /// A state that is no number is not kept: the craft stays where it was.
    fn mend(&mut self, before: &[(CraftId, Craft)]) -> Vec<Uuid> {
        let mut lost = Vec::new();
        for (id, was) in before {
            let sound =
                self.fleet.craft(*id).is_some_and(|now| now.r.is_finite() && now.v.is_finite());
            let steady = self
                .fleet
                .hull(*id)
                .is_none_or(|hull| hull.attitude.is_finite() && hull.omega.is_finite());
            if sound && steady {
                continue;
            }
            self.fleet.relocate(&self.bodies, *id, *was);
            if let Some(hull) = self.fleet.hull_mut(*id) {
                if !steady {
                    (hull.attitude, hull.omega) = (crate::physics::Quat::IDENTITY, Vec3::ZERO);
                }
                (hull.thrust_level, hull.mode) = (0.0, Mode::None);
            }
            let name = self.ships.iter().find(|(_, ship)| ship.craft == *id).map(|(name, _)| name);
            lost.extend(name.copied());
        }
        lost
    }

    /// Whoever sinks below a body's mean radius stands on it, until something lifts it.
    fn touch_ground(&mut self) -> Vec<(Uuid, String)> {
        let mut touched = Vec::new();
        for (id, ship) in &mut self.ships {
            let Some(craft) = self.fleet.craft(ship.craft) else { continue };
            let body = self.system.body(craft.reference);
            if ship.docked.is_some() || craft.r.length_squared() > body.radius * body.radius {
                ship.landed = None;
                continue;
            }
            let up = craft.r.normalize_or(Vec3::Z);
            let stands = Craft { r: up * body.radius, v: Vec3::ZERO, ..craft };
            self.fleet.relocate(&self.bodies, ship.craft, stands);
            if ship.landed.replace(craft.reference) != Some(craft.reference) {
                touched.push((*id, body.name.to_owned()));
            }
        }
        touched
    }

    fn refuel(&mut self, dt_s: f64) {
        for ship in self.ships.values_mut().filter(|ship| ship.refuelling && ship.docked.is_some())
        {
            let Some(hull) = self.fleet.hull_mut(ship.craft) else { continue };
            if hull.fuel >= hull.fuel_capacity {
                ship.refuelling = false;
                continue;
            }
            hull.fuel = (hull.fuel + dock::REFUEL_RATE * dt_s).min(hull.fuel_capacity);
            hull.fuel_lost = 0.0;
        }
    }
}
