//! All craft of a system: ships, stations and gates, each relative to the body whose sphere it is in.
//!
//! Always true: a craft keeps its id while it lives; a block holds craft of one reference body; after every change the
//! pull on a block is that of the bodies where they are now.

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use super::aim::View;
use super::lanes::{Block, Burns, LANES};
use super::solar::System;
use super::{Bodies, Frame, Hull, Track, Vec3};

/// From so many blocks on, the work is worth a second thread.
const WORTH_SHARING: usize = 64;
/// A craft leaves a sphere a little outside of where it enters, so that it does not flap.
const LEAVES_AT: f64 = 1.02;

/// Names a craft while it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CraftId(u32);

impl CraftId {
    pub(super) const NONE: CraftId = CraftId(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Place and velocity relative to a reference body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Craft {
    /// Index of the body.
    pub reference: usize,
    /// Place.
    pub r: Vec3,
    /// Velocity.
    pub v: Vec3,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    block: usize,
    lane: usize,
}

/// All craft of a system.
#[derive(Debug, Clone, Default)]
pub struct Fleet {
    blocks: Vec<Block>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
}

impl Fleet {
    /// How many craft there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes in a craft; with a hull it is a ship.
    pub fn insert(&mut self, bodies: &Bodies, craft: Craft, hull: Option<Hull>) -> CraftId {
        let id = CraftId(self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("fewer craft than memory holds")
        }));
        self.put(bodies, id, craft, hull.map(Box::new));
        id
    }

    /// Takes in a craft at an absolute place.
    pub fn insert_at(
        &mut self,
        system: &System,
        bodies: &Bodies,
        (position, velocity): (Vec3, Vec3),
        hull: Option<Hull>,
    ) -> CraftId {
        let craft = Craft::seen_from(system, bodies.now(), position, velocity);
        self.insert(bodies, craft, hull)
    }

    /// Lets a craft go.
    pub fn remove(&mut self, id: CraftId) -> Option<(Craft, Option<Hull>)> {
        let (craft, hull) = self.take(id)?;
        self.slots[id.index()] = None;
        self.free.push(id.0);
        Some((craft, hull.map(|hull| *hull)))
    }

    /// The place and velocity of a craft.
    pub fn craft(&self, id: CraftId) -> Option<Craft> {
        let Slot { block, lane } = (*self.slots.get(id.index())?)?;
        let block = &self.blocks[block];
        Some(Craft { reference: block.reference, r: block.place(lane), v: block.velocity(lane) })
    }

    /// A ship's hull.
    pub fn hull(&self, id: CraftId) -> Option<&Hull> {
        let Slot { block, lane } = (*self.slots.get(id.index())?)?;
        self.blocks[block].hulls[lane].as_deref()
    }

    /// A ship's hull, to give it orders.
    pub fn hull_mut(&mut self, id: CraftId) -> Option<&mut Hull> {
        let Slot { block, lane } = (*self.slots.get(id.index())?)?;
        self.blocks[block].hulls[lane].as_deref_mut()
    }

    /// Puts a craft somewhere else.
    pub fn relocate(&mut self, bodies: &Bodies, id: CraftId, craft: Craft) {
        let Some(Slot { block: index, lane }) = self.slots.get(id.index()).copied().flatten()
        else {
            return;
        };
        let block = &mut self.blocks[index];
        if block.reference == craft.reference {
            block.set(lane, craft.r, craft.v);
            block.pull(bodies.gm(), bodies.now());
        } else if let Some((_, hull)) = self.take(id) {
            self.put(bodies, id, craft, hull);
        }
    }

    /// Moves all craft along with the bodies.
    pub fn advance(&mut self, gm: &[f64], track: &Track) {
        self.advance_on(gm, track, true);
    }

    /// The same, on one thread unless `shared`.
    pub fn advance_on(&mut self, gm: &[f64], track: &Track, shared: bool) {
        let arch = Arch::new();
        let fly = |block: &mut Block| arch.dispatch(Fly { block, gm, track });
        if shared && self.blocks.len() >= WORTH_SHARING {
            self.blocks.par_iter_mut().for_each(fly);
        } else {
            self.blocks.iter_mut().for_each(fly);
        }
    }

    /// Gives each craft the body in whose sphere it is now; says how many changed.
    pub fn change_spheres(&mut self, system: &System, bodies: &Bodies) -> usize {
        let mut leaving = Vec::new();
        for block in &self.blocks {
            for lane in 0..block.used {
                let craft = Craft {
                    reference: block.reference,
                    r: block.place(lane),
                    v: block.velocity(lane),
                };
                let next = craft.in_its_sphere(system, bodies.now());
                if next.reference != craft.reference {
                    leaving.push((block.ids[lane], next));
                }
            }
        }
        for (id, craft) in &leaving {
            self.relocate(bodies, *id, *craft);
        }
        leaving.len()
    }

    fn put(&mut self, bodies: &Bodies, id: CraftId, craft: Craft, hull: Option<Box<Hull>>) {
        let room = |block: &Block| block.reference == craft.reference && block.used < LANES;
        let index = self.blocks.iter().position(room).unwrap_or_else(|| {
            self.blocks.push(Block::new(craft.reference));
            self.blocks.len() - 1
        });
        let block = &mut self.blocks[index];
        let lane = block.used;
        block.used += 1;
        block.ids[lane] = id;
        block.hulls[lane] = hull;
        block.set(lane, craft.r, craft.v);
        block.pull(bodies.gm(), bodies.now());
        self.slots[id.index()] = Some(Slot { block: index, lane });
    }

    fn take(&mut self, id: CraftId) -> Option<(Craft, Option<Box<Hull>>)> {
        let craft = self.craft(id)?;
        let Slot { block: index, lane } = self.slots.get_mut(id.index())?.take()?;
        let block = &mut self.blocks[index];
        let hull = block.hulls[lane].take();
        let last = block.used - 1;
        if lane != last {
            block.copy(last, lane);
            block.hulls.swap(last, lane);
            self.slots[block.ids[lane].index()] = Some(Slot { block: index, lane });
        }
        block.used = last;
        if last == 0 {
            self.drop_block(index);
        }
        Some((craft, hull))
    }

    fn drop_block(&mut self, index: usize) {
        self.blocks.swap_remove(index);
        if let Some(moved) = self.blocks.get(index) {
            for lane in 0..moved.used {
                self.slots[moved.ids[lane].index()] = Some(Slot { block: index, lane });
            }
        }
    }
}

/// A block's way. A closure would be a function of its own, compiled for narrow vectors; this is not.
struct Fly<'a> {
    block: &'a mut Block,
    gm: &'a [f64],
    track: &'a Track,
}

impl NullaryFnOnce for Fly<'_> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled once per width of vectors")]
    fn call(self) {
        self.block.fly(self.gm, self.track);
    }
}

impl Block {
    /// The whole track: per step half a kick, the orbit, half a kick.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled once per width of vectors")]
    fn fly(&mut self, gm: &[f64], track: &Track) {
        let h = track.step_s;
        let powered = self.hulls[..self.used].iter().flatten().any(|hull| !hull.rests());
        let mut burns = Burns::default();
        let mut elapsed = 0.0;
        for frame in track.frames.windows(2) {
            if powered {
                burns = self.burn(gm, &frame[0], h, elapsed);
            }
            self.kick(h / 2.0, &burns.first);
            self.drift(gm[self.reference], h);
            self.pull(gm, &frame[1]);
            self.kick(h / 2.0, &burns.second);
            elapsed += h;
        }
    }

    fn burn(&mut self, gm: &[f64], frame: &Frame, h: f64, elapsed: f64) -> Burns {
        let mut burns = Burns::default();
        for lane in 0..self.used {
            let (reference, r, v) = (self.reference, self.place(lane), self.velocity(lane));
            let Some(hull) = self.hulls[lane].as_deref_mut() else { continue };
            let view = View { gm, frame, reference, r, v, elapsed };
            hull.turn(h / 2.0, &view);
            let burn = hull.burn(h);
            hull.turn(h / 2.0, &view);
            for axis in 0..3 {
                burns.first[axis][lane] = burn.first[axis];
                burns.second[axis][lane] = burn.second[axis];
            }
        }
        burns
    }
}

impl Craft {
    /// A craft at an absolute place, relative to the body in whose sphere that is.
    pub fn seen_from(system: &System, frame: &Frame, position: Vec3, velocity: Vec3) -> Craft {
        let reference = system.star();
        let star = Craft {
            reference,
            r: position - frame.position[reference],
            v: velocity - frame.velocity[reference],
        };
        star.in_its_sphere(system, frame)
    }

    /// The same craft relative to the body in whose sphere it is: the smallest that holds it.
    fn in_its_sphere(self, system: &System, frame: &Frame) -> Craft {
        let mut craft = self;
        while let Some(parent) = system.body(craft.reference).parent {
            if craft.r.length() <= LEAVES_AT * system.body(craft.reference).hill {
                break;
            }
            craft = craft.relative_to(parent, frame);
        }
        loop {
            let inner = system
                .moons(craft.reference)
                .iter()
                .map(|moon| craft.relative_to(*moon, frame))
                .find(|seen| seen.r.length() < system.body(seen.reference).hill);
            match inner {
                Some(seen) => craft = seen,
                None => return craft,
            }
        }
    }

    /// The same craft seen from another body.
    #[must_use]
    pub fn relative_to(self, body: usize, frame: &Frame) -> Craft {
        Craft {
            reference: body,
            r: self.r + (frame.position[self.reference] - frame.position[body]),
            v: self.v + (frame.velocity[self.reference] - frame.velocity[body]),
        }
    }

    /// Metres from the barycentre, and m/s.
    pub fn absolute(self, frame: &Frame) -> (Vec3, Vec3) {
        (frame.position[self.reference] + self.r, frame.velocity[self.reference] + self.v)
    }
}
