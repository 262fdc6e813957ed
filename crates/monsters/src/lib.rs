//! Monsters of a map: hp, damage, control, effects, skills, drops (seed 001).
//!
//! [`Monsters`] has the verbs. Always true: hp and mp are within their maximum; each live monster is in exactly
//! one field's set; no free id is live, none is free twice; one `KILLED` or `DESTROYED` per `CREATED`. Every
//! change, its index entries, its timers and its event are one atomic step.

pub mod effects;
mod error;
mod events;
pub mod keys;
mod model;
mod scripts;
mod store;
mod strike;
mod template;

pub use effects::{NewEffect, Reflect};
pub use error::{Immunity, MonsterError, Result, SkillCheck, refusal};
pub use events::MOVED;
pub use model::{DamageEntry, DropTimer, Effect, Element, Entries, Monster, SourceType, leader};
pub use scripts::SCRIPTS;
pub use store::doctor::WORDINGS;
pub use store::{
    Applied, Cancelled, Cleared, CommandError, Dice, EffectBody, Entered, Listed, MOST_AT_ONCE,
    Monsters, Move, Options, Picked, Spawn, Used,
};
pub use strike::{Attack, Blow, Line, MOST_ENTRIES, Reflected, strike};
pub use template::{
    Attack as TemplateAttack, Banish, Drop, SHIPPED_SKILLS, SHIPPED_TEMPLATES, Skill, SkillRef,
    Skills, Template, Templates, Unit, file_kinds,
};
