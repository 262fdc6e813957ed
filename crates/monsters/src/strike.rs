//! Rules of damage: clamped to the hp left, one entry per hit, and exactly one hit that kills. A pure function
//! on a monster; the store writes what comes out.

use field::Point;

use crate::effects;
use crate::model::{DamageEntry, Element, Monster};

/// Past this many entries they are merged per character.
pub const MOST_ENTRIES: usize = 1024;

/// One attack: one character, one or more hits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attack {
    /// The attacker.
    pub character_id: u32,
    /// Each hit, as the attacker's client shows it.
    pub damages: Vec<u32>,
    /// 0 melee, 1 ranged, 2 magic, 3 energy.
    pub attack_type: u8,
    /// The attacker's position, when that is known.
    pub from: Option<Point>,
    /// The life it is aimed at: an heir of the id is not hit. Without it, whoever has the id is.
    pub life: Option<u64>,
}

impl Attack {
    /// Whether magic reflects answer it.
    pub fn magical(&self) -> bool {
        self.attack_type == 2
    }
}

/// One hit: what was shown, and what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// As requested.
    pub damage: u32,
    /// As taken from the hp.
    pub actual: u32,
}

/// The damage that came back to an attacker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reflected {
    /// The attacker.
    pub character_id: u32,
    /// How much.
    pub damage: i32,
    /// `PHYSICAL` or `MAGICAL`.
    pub kind: &'static str,
}

/// The outcome of an attack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blow {
    /// Hp left after it.
    pub hp: u32,
    /// Whether this attack killed; true for one attack in a monster's life.
    pub killed: bool,
    /// Hits that were taken; those after the killing one are not among them.
    pub lines: Vec<Line>,
    /// The damage that came back.
    pub reflected: Option<Reflected>,
    /// Whether the monster was dead already: nothing was done.
    pub dead: bool,
    /// The life of the monster that took it.
    pub life: u64,
}

/// Appends an entry, merging when the list grows too long.
pub(crate) fn push(monster: &mut Monster, entry: DamageEntry) {
    monster.damage_entries.push(Element::new(entry));
    if monster.damage_entries.len() > MOST_ENTRIES {
        merge(monster);
    }
}

/// One entry per character, sums unchanged, in order of first appearance.
fn merge(monster: &mut Monster) {
    let entries = std::mem::take(&mut monster.damage_entries);
    for &(character_id, mut sum) in entries.sums() {
        let its = entries.iter().filter(|entry| entry.character_id == character_id);
        let last_hit_ms = its.map(|entry| entry.last_hit_ms).max().unwrap_or(0);
        loop {
            let damage = u32::try_from(sum).unwrap_or(u32::MAX);
            monster.damage_entries.push(Element::new(DamageEntry {
                character_id,
                damage,
                last_hit_ms,
            }));
            sum -= u64::from(damage);
            if sum == 0 {
                break;
            }
        }
    }
}

/// Does an attack. `stamp_ms` is kept with its entries; 0 is not.
pub fn strike(monster: &mut Monster, attack: &Attack, stamp_ms: i64) -> Blow {
    if !monster.alive() {
        return Blow { dead: true, life: monster.life, ..Blow::default() };
    }
    let total: u64 = attack.damages.iter().map(|damage| u64::from(*damage)).sum();
    let reflected = if attack.damages.is_empty() {
        None
    } else {
        effects::reflected(monster, attack.magical(), total, attack.from)
    };
    let mut lines = Vec::with_capacity(attack.damages.len());
    for damage in &attack.damages {
        let actual = (*damage).min(monster.hp);
        monster.hp -= actual;
        let entry = DamageEntry {
            character_id: attack.character_id,
            damage: actual,
            last_hit_ms: stamp_ms,
        };
        push(monster, entry);
        lines.push(Line { damage: *damage, actual });
        if monster.hp == 0 {
            break;
        }
    }
    let reflected = reflected.map(|damage| Reflected {
        character_id: attack.character_id,
        damage,
        kind: effects::reflect_kind(attack.magical()),
    });
    let Monster { hp, life, .. } = *monster;
    Blow { hp, killed: hp == 0, lines, reflected, dead: false, life }
}
