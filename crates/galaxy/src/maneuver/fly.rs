//! Maneuvers in the world: begun, flown before each tick, settled after it, ended, forgotten.

use uuid::Uuid;

use super::guide::{self, Helm, Verdict};
use super::orbits;
use super::{Circling, Maneuver, ManeuverStatus, Phase, Plan};
use crate::error::OrderError;
use crate::physics::hull::Mode;
use crate::world::{Service, World};

/// How long the hash of an ended maneuver stays, s of the wall clock at the rate of the world.
const KEPT_S: f64 = 60.0;

impl World {
    /// Begins a maneuver, or says why not and changes nothing.
    pub(crate) fn begin(
        &mut self,
        id: Uuid,
        plan: Plan,
        rule: Option<Uuid>,
    ) -> Result<(), OrderError> {
        let ship = self.ships.get(&id).ok_or(OrderError::Missing("ship"))?;
        if ship.maneuver.as_ref().is_some_and(Maneuver::active) {
            return Err(OrderError::Conflict("the ship flies a maneuver already; abort it first"));
        }
        if ship.docked.is_some() {
            return Err(OrderError::Conflict("the ship is docked; undock first"));
        }
        if ship.landed.is_some() {
            return Err(OrderError::Conflict("the ship stands on the ground; lift off first"));
        }
        let target = match &plan {
            Plan::Circle { .. } => None,
            Plan::Burn { target, .. } | Plan::Plane { target, .. } => target.clone(),
            Plan::Rendezvous { target, .. } => Some(target.clone()),
        };
        if let Some(target) = &target {
            let itself = target.id.parse() == Ok(id);
            if itself || self.mark(target).is_none() {
                return Err(OrderError::Missing("target"));
            }
        }
        let craft = self.fleet.craft(ship.craft).ok_or(OrderError::Missing("ship"))?;
        if self.fulfils(id, &plan, orbits::EXACTLY) {
            return Err(OrderError::Conflict("nothing is to be done: the ship is on that orbit"));
        }
        if let Plan::Plane { target: Some(at), .. } = &plan {
            self.plane_of(&craft, at)?;
        }
        let mut maneuver = Maneuver::new(plan, Phase::Align, self.tick, rule);
        if let Plan::Circle { target_altitude, .. } = &mut maneuver.plan {
            let body = self.system.body(craft.reference);
            maneuver.body = Some(craft.reference);
            maneuver.phase = Phase::Transfer;
            if target_altitude.is_none() {
                let lead = self.hull(id).map_or(0.0, guide::turning_s);
                let (course, distance) = orbits::circle_here(body, &craft, lead);
                *target_altitude = Some(distance - body.radius);
                maneuver.follow(course, self.time_ns);
            }
        }
        let ship = self.ships.get_mut(&id).ok_or(OrderError::Missing("ship"))?;
        ship.maneuver = Some(maneuver);
        if target.is_some() {
            ship.target = target;
        }
        Ok(())
    }

    /// Whether a maneuver flies this ship.
    pub(crate) fn flies(&self, id: Uuid) -> bool {
        let maneuver = self.ships.get(&id).and_then(|ship| ship.maneuver.as_ref());
        maneuver.is_some_and(Maneuver::active)
    }

    /// Whether a maneuver would be done before it begins: a rule that keeps an orbit round rests while it is.
    pub(crate) fn has_nothing_to_do(&self, id: Uuid, plan: &Plan) -> bool {
        self.ships.get(&id).is_none_or(|ship| self.fleet.craft(ship.craft).is_none())
            || self.fulfils(id, plan, orbits::NEARLY)
    }

    /// Whether the orbit of the ship is the wanted one, that nearly. What is to be kept is never done.
    fn fulfils(&self, id: Uuid, plan: &Plan, within: f64) -> bool {
        let craft = self.ships.get(&id).and_then(|ship| self.fleet.craft(ship.craft));
        let Some(craft) = craft else { return false };
        let body = self.system.body(craft.reference);
        match plan {
            Plan::Circle { how, target_altitude } if *how != Circling::StationKeeping => {
                let here = craft.r.length();
                let wanted = target_altitude.map_or(here, |altitude| body.radius + altitude);
                orbits::is_circle(body, &craft, wanted, within)
            }
            Plan::Plane { inclination, target } => {
                let normal = self.wanted_plane(&craft, *inclination, target.as_ref());
                normal.is_ok_and(|normal| orbits::is_plane(&craft, normal, within))
            }
            Plan::Circle { .. } | Plan::Burn { .. } | Plan::Rendezvous { .. } => false,
        }
    }

    /// Ends a maneuver because somebody wants to fly; says whether there was one.
    pub(crate) fn cancel(&mut self, id: Uuid) -> bool {
        let tick = self.tick;
        let Some(ship) = self.ships.get_mut(&id) else { return false };
        let Some(maneuver) = ship.maneuver.as_mut().filter(|maneuver| maneuver.active()) else {
            return false;
        };
        maneuver.end(ManeuverStatus::Cancelled, "", tick);
        if let Some(hull) = self.hull_mut(id) {
            (hull.thrust_level, hull.cutoff) = (0.0, None);
        }
        true
    }

    /// Sets the controls of every ship that flies a maneuver, for a tick of `dt_s`.
    pub(crate) fn fly_maneuvers(&mut self, dt_s: f64) {
        let flying: Vec<Uuid> = self
            .ships
            .iter()
            .filter(|(_, ship)| ship.maneuver.as_ref().is_some_and(Maneuver::active))
            .map(|(id, _)| *id)
            .collect();
        for id in flying {
            self.fly(id, dt_s);
        }
    }

    fn fly(&mut self, id: Uuid, dt_s: f64) {
        let Some(mut maneuver) = self.ships.get_mut(&id).and_then(|ship| ship.maneuver.take())
        else {
            return;
        };
        let verdict = match Helm::take(self, id, dt_s) {
            Some(mut helm) => helm.fly(&mut maneuver),
            None => Verdict::Failed("the ship is docked or on the ground"),
        };
        let (tick, dock) = (self.tick + 1, self.ends(id, &mut maneuver, verdict));
        if maneuver.active() {
            maneuver.updated_tick = tick;
        } else if let Some(hull) = self.hull_mut(id) {
            hull.thrust_level = 0.0;
            hull.cutoff = None;
            hull.hold_here();
        }
        if let Some(ship) = self.ships.get_mut(&id) {
            ship.maneuver = Some(maneuver);
        }
        if let Some(station) = dock {
            // It is there and slow; should the station say no, the pilot can ask again.
            let _ = self.serve(id, &Service::Dock(Some(station)));
        }
    }

    /// Ends it if the helm says so; gives the station to dock at.
    fn ends(&self, id: Uuid, maneuver: &mut Maneuver, verdict: Verdict) -> Option<Uuid> {
        let tick = self.tick + 1;
        match verdict {
            Verdict::GoOn => {}
            Verdict::Failed(why) => maneuver.end(ManeuverStatus::Failed, why, tick),
            Verdict::Done => {
                maneuver.end(ManeuverStatus::Done, "", tick);
                if let Plan::Rendezvous { target, dock_on_arrival: true } = &maneuver.plan {
                    return target.id.parse().ok();
                }
            }
        }
        if maneuver.active() && self.hull(id).is_none_or(|hull| hull.fuel <= 0.0) {
            maneuver.end(ManeuverStatus::Failed, "the tanks are empty", tick);
        }
        None
    }

    /// After the tick: what the engine won is counted, a burn that has it all is done, what ended long ago is
    /// forgotten. Says which ended in this tick.
    pub(crate) fn settle_maneuvers(&mut self) -> Vec<Uuid> {
        let mut ended = Vec::new();
        let forget = {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "6000 at most"
            )]
            let kept = (KEPT_S * self.pace.rate).round() as u64;
            self.tick.saturating_sub(kept)
        };
        let tick = self.tick;
        for (id, ship) in &mut self.ships {
            let Some(maneuver) = &mut ship.maneuver else { continue };
            if !maneuver.active() {
                if maneuver.updated_tick == tick {
                    ended.push(*id);
                } else if maneuver.updated_tick < forget {
                    ship.maneuver = None;
                }
                continue;
            }
            let Some(hull) = self.fleet.hull_mut(ship.craft) else { continue };
            maneuver.delta_v_done += std::mem::take(&mut hull.won);
            if let Plan::Burn { delta_v, .. } = maneuver.plan
                && maneuver.delta_v_done >= delta_v - 1e-9 * delta_v.max(1.0)
            {
                maneuver.end(ManeuverStatus::Done, "", tick);
                ended.push(*id);
                (hull.thrust_level, hull.cutoff) = (0.0, None);
                if hull.mode != Mode::Hold {
                    hull.hold_here();
                }
            }
        }
        ended
    }
}
