//! The state machine: the outcome of a hit on a reactor. It is pure: data, state and rules go in, a
//! decision comes out. The numbers of section 5.4 of the module's specification are in the
//! comments.

use field::Point;

use crate::model::{Data, Reaction, Reactor};
use crate::store::Drop;

/// A reaction to an item on the ground.
pub(crate) const ITEM: i32 = 100;
/// A reaction that only time brings about.
const TIMER: i32 = 101;

/// How hits that fit no reaction are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HitPolicy {
    /// As upstream: a hit that fits nothing destroys, and any hit advances an item's or a timer's reaction.
    #[default]
    Upstream,
    /// A hit that fits nothing does nothing; items and timers advance their own reactions only.
    Strict,
}

/// Which ends leave a reactor standing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PersistRule {
    /// By the type of the reaction that matched: by skill, item or timer.
    #[default]
    Matched,
    /// When any reaction of any state has type 100 or 999, as older services had it.
    Any,
}

/// The switches of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rules {
    /// For hits that fit nothing.
    pub hit: HitPolicy,
    /// For ends.
    pub persist: PersistRule,
}

/// The cause of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// An attack with this skill; 0 is a plain one.
    Skill(u32),
    /// An item that was dropped on it.
    Item {
        /// The item's id.
        item_id: u32,
        /// The quantity.
        quantity: u16,
    },
}

/// The outcome of a hit on a reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing happens at all.
    Nothing,
    /// It stands, in this state; `trigger` when it has reached an end.
    Stands {
        /// The new state.
        state: i8,
        /// Whether its script is told.
        trigger: bool,
    },
    /// It triggers and is gone; `DESTROYED` reports this state.
    Gone {
        /// The state it reports.
        state: i8,
    },
}

/// Decides.
pub fn hit(data: &Data, state: i8, by: By, rules: Rules) -> Next {
    let gone = Next::Gone { state };
    let reactions = data.reactions(state).unwrap_or_default();
    if reactions.is_empty() {
        return gone; // 4
    }
    let Some(matched) = reactions.iter().find(|reaction| fits(reaction, by, rules.hit)) else {
        return match rules.hit {
            HitPolicy::Upstream => gone, // 5
            HitPolicy::Strict => Next::Nothing,
        };
    };
    if matched.next_state == -1 {
        return gone; // 5
    }
    let next = matched.next_state;
    let stands = Next::Stands { state: next, trigger: true };
    let persists = persists(data, matched, rules.persist);
    let Some(then) = data.reactions(next) else {
        return if persists { stands } else { gone }; // 6: the old state is reported
    };
    let terminal = then.iter().all(|reaction| data.reactions(reaction.next_state).is_none());
    match (terminal, persists) {
        (true, true) => stands, // 7
        (true, false) => Next::Gone { state: next },
        (false, _) => Next::Stands { state: next, trigger: false }, // 8
    }
}

fn fits(reaction: &Reaction, by: By, policy: HitPolicy) -> bool {
    let skill = match by {
        By::Skill(skill) => skill,
        By::Item { .. } => 0,
    };
    let open = reaction.active_skills.is_empty() || reaction.active_skills.contains(&skill);
    match (policy, by) {
        (HitPolicy::Upstream, _) => open,
        (HitPolicy::Strict, By::Skill(_)) => open && ![ITEM, TIMER].contains(&reaction.kind),
        (HitPolicy::Strict, By::Item { item_id, quantity }) => takes(reaction, item_id, quantity),
    }
}

fn persists(data: &Data, matched: &Reaction, rule: PersistRule) -> bool {
    match rule {
        PersistRule::Matched => matches!(matched.kind, 5..=7 | ITEM | TIMER),
        PersistRule::Any => {
            let states = data.state_info.iter().flat_map(|states| states.values());
            states.flat_map(|state| &state.0).any(|one| matches!(one.kind, ITEM | 999))
        }
    }
}

fn takes(reaction: &Reaction, item_id: u32, quantity: u16) -> bool {
    let wanted = reaction.reactor_item.filter(|_| reaction.kind == ITEM);
    wanted.is_some_and(|item| item.item_id == item_id && item.quantity <= quantity)
}

/// Whether a reactor, as it is now, takes this item from where it lies.
pub fn takes_drop(reactor: &Reactor, drop: &Drop) -> bool {
    let reactions = reactor.data.reactions(reactor.state).unwrap_or_default();
    let origin = Point::new(reactor.x, reactor.y);
    reactions.iter().any(|reaction| takes(reaction, drop.item_id, drop.quantity))
        && reactor.data.area().holds(origin, Point::new(drop.x, drop.y))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{Item, Reactions, State};

    /// `(state, [(type, skills, next)])`.
    type Row = (i8, &'static [(i32, &'static [u32], i8)]);

    fn data(rows: &[Row]) -> Data {
        let reaction = |(kind, skills, next): &(i32, &[u32], i8)| Reaction {
            kind: *kind,
            reactor_item: (*kind == ITEM).then_some(Item { item_id: 7, quantity: 2 }),
            active_skills: skills.to_vec(),
            next_state: *next,
        };
        let states: BTreeMap<State, Reactions> = rows
            .iter()
            .map(|(state, list)| (State(*state), Reactions(list.iter().map(reaction).collect())))
            .collect();
        Data { state_info: Some(states), ..Data::default() }
    }

    const fn stands(state: i8, trigger: bool) -> Next {
        Next::Stands { state, trigger }
    }

    const fn gone(state: i8) -> Next {
        Next::Gone { state }
    }

    const UP: Rules = Rules { hit: HitPolicy::Upstream, persist: PersistRule::Matched };
    const STRICT: Rules = Rules { hit: HitPolicy::Strict, persist: PersistRule::Matched };
    const ANY: Rules = Rules { hit: HitPolicy::Upstream, persist: PersistRule::Any };

    #[test]
    #[allow(clippy::type_complexity)] // it is a table
    fn every_row_of_the_state_machine() {
        const PLAIN: By = By::Skill(0);
        let rows: &[(&str, &[Row], i8, By, Rules, Next)] = &[
            ("a box breaks at the first hit", &[(0, &[(0, &[], 1)])], 0, PLAIN, UP, gone(0)),
            ("a state without entry", &[(0, &[(0, &[], 1)])], 5, PLAIN, UP, gone(5)),
            ("a state without reactions", &[(0, &[])], 0, PLAIN, UP, gone(0)),
            ("strict breaks a dead end too", &[(0, &[])], 0, PLAIN, STRICT, gone(0)),
            ("minus one is an end", &[(0, &[(5, &[], -1)])], 0, PLAIN, UP, gone(0)),
            (
                "on to a live state",
                &[(0, &[(0, &[], 1)]), (1, &[(0, &[], 0)])],
                0,
                PLAIN,
                UP,
                stands(1, false),
            ),
            ("into a terminal state", &[(0, &[(0, &[], 1)]), (1, &[])], 0, PLAIN, UP, gone(1)),
            (
                "terminal by leading nowhere",
                &[(0, &[(0, &[], 1)]), (1, &[(0, &[], 9)])],
                0,
                PLAIN,
                UP,
                gone(1),
            ),
            (
                "one way back is not terminal",
                &[(0, &[(0, &[], 1)]), (1, &[(0, &[], 9), (0, &[], 0)])],
                0,
                PLAIN,
                UP,
                stands(1, false),
            ),
            ("skill-gated persists outside", &[(0, &[(5, &[], 1)])], 0, PLAIN, UP, stands(1, true)),
            (
                "skill-gated persists inside",
                &[(0, &[(6, &[], 1)]), (1, &[])],
                0,
                PLAIN,
                UP,
                stands(1, true),
            ),
            ("type 7 persists", &[(0, &[(7, &[], 1)])], 0, PLAIN, UP, stands(1, true)),
            ("item persists", &[(0, &[(100, &[], 1)])], 0, PLAIN, UP, stands(1, true)),
            ("timer persists", &[(0, &[(101, &[], 1)])], 0, PLAIN, UP, stands(1, true)),
            ("directional is destroyed", &[(0, &[(1, &[], 1)])], 0, PLAIN, UP, gone(0)),
            ("type 2 is destroyed", &[(0, &[(2, &[], 1)]), (1, &[])], 0, PLAIN, UP, gone(1)),
            ("an unknown type is destroyed", &[(0, &[(42, &[], 1)])], 0, PLAIN, UP, gone(0)),
            ("the right skill", &[(0, &[(5, &[9], 1)])], 0, By::Skill(9), UP, stands(1, true)),
            (
                "the first match counts",
                &[(0, &[(0, &[9], 3), (0, &[], 1), (0, &[], 2)]), (1, &[(0, &[], 0)])],
                0,
                PLAIN,
                UP,
                stands(1, false),
            ),
            (
                "a wrong skill destroys upstream",
                &[(0, &[(5, &[9], 1)])],
                0,
                By::Skill(8),
                UP,
                gone(0),
            ),
            (
                "a wrong skill does nothing strictly",
                &[(0, &[(5, &[9], 1)])],
                0,
                By::Skill(8),
                STRICT,
                Next::Nothing,
            ),
            ("a plain hit is no item", &[(0, &[(100, &[], 1)])], 0, PLAIN, STRICT, Next::Nothing),
            ("a plain hit is no timer", &[(0, &[(101, &[], 1)])], 0, PLAIN, STRICT, Next::Nothing),
            (
                "strict finds the reaction behind",
                &[(0, &[(100, &[], 1), (0, &[], 2)])],
                0,
                PLAIN,
                STRICT,
                gone(0),
            ),
            (
                "an item strictly",
                &[(0, &[(0, &[], 2), (100, &[], 1)])],
                0,
                By::Item { item_id: 7, quantity: 2 },
                STRICT,
                stands(1, true),
            ),
            (
                "too few items strictly",
                &[(0, &[(100, &[], 1)])],
                0,
                By::Item { item_id: 7, quantity: 1 },
                STRICT,
                Next::Nothing,
            ),
            (
                "an item upstream is a plain hit",
                &[(0, &[(0, &[], 1)])],
                0,
                By::Item { item_id: 7, quantity: 2 },
                UP,
                gone(0),
            ),
            (
                "any: an item anywhere persists",
                &[(0, &[(0, &[], 1)]), (4, &[(100, &[], 5)])],
                0,
                PLAIN,
                ANY,
                stands(1, true),
            ),
            (
                "any: 999 anywhere persists",
                &[(0, &[(0, &[], 1)]), (4, &[(999, &[], 5)])],
                0,
                PLAIN,
                ANY,
                stands(1, true),
            ),
            ("any: skill-gated alone does not", &[(0, &[(5, &[], 1)])], 0, PLAIN, ANY, gone(0)),
            ("any: no match is still an end", &[(0, &[(100, &[9], 1)])], 0, PLAIN, ANY, gone(0)),
        ];
        for (name, rows, state, by, rules, next) in rows {
            assert_eq!(hit(&data(rows), *state, *by, *rules), *next, "{name}");
        }
        assert_eq!(hit(&Data::default(), 0, PLAIN, UP), gone(0), "no data at all");
    }
}
