//! Events of monsters, in upstream's words and shapes: each message names the field, the monster and
//! its template, and its `body` says the rest. Behind it stand the monster's life and where it is, which upstream's
//! readers pass over. Told in the step in which it happened.

use field::Point;
use kernel::Event;
use kernel::numbers::{Dialect, to_json};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::model::{Effect, Monster};

/// The type of a move.
pub const MOVED: &str = "MOVED";

/// Damage per character as events tell it: `[{"characterId":7,"damage":30},…]`.
fn sums_text(sums: &[(u32, u64)]) -> String {
    let mut text = String::with_capacity(2 + 40 * sums.len());
    let mut digits = itoa::Buffer::new();
    text.push('[');
    for (at, &(character, damage)) in sums.iter().enumerate() {
        text.push_str(if at == 0 { "{\"characterId\":" } else { ",{\"characterId\":" });
        text.push_str(digits.format(character));
        text.push_str(",\"damage\":");
        text.push_str(digits.format(damage));
        text.push('}');
    }
    text.push(']');
    text
}

/// The beginning of every message about a monster, up to the type's name.
fn head(monster: &Monster) -> String {
    let field = monster.field;
    format!(
        "{{\"worldId\":{},\"channelId\":{},\"mapId\":{},\"instance\":\"{}\",\"uniqueId\":{},\"monsterId\":{},\"type\":\"",
        field.world_id,
        field.channel_id,
        field.map_id,
        field.instance,
        monster.unique_id,
        monster.monster_id
    )
}

/// The whole message.
fn message(monster: &Monster, kind: &str, body: &str) -> String {
    let (life, at) = (monster.life, monster.at);
    format!(
        "{}{kind}\",\"body\":{body},\"life\":{life},\"x\":{},\"y\":{}}}",
        head(monster),
        at.x,
        at.y
    )
}

fn told(monster: &Monster, kind: &str, at_ms: u64, body: &str) -> Event {
    let text = message(monster, kind, body);
    let raw = RawValue::from_string(text).expect("a message is put together from JSON");
    Event::raw(kind, at_ms, monster.unique_id.to_string(), raw)
}

fn with<T: Serialize>(monster: &Monster, kind: &str, at_ms: u64, body: &T) -> Event {
    told(monster, kind, at_ms, &to_json(body, Dialect::Go).expect("plain data is always JSON"))
}

/// The message that it has come, which the step that draws its id tells.
pub(crate) fn created(monster: &Monster) -> String {
    message(monster, "CREATED", "{\"actorId\":0}")
}

/// A move, as the channel of moves carries it: when, whose, and the message. It stands in no stream: moves are many,
/// and only the newest counts.
pub(crate) fn moved(monster: &Monster, at_ms: u64, from: Point) -> String {
    let body = format!(
        "{{\"fromX\":{},\"fromY\":{},\"stance\":{},\"fh\":{}}}",
        from.x, from.y, monster.stance, monster.fh
    );
    format!("{at_ms} {} {}", monster.unique_id, message(monster, MOVED, &body))
}

/// It is gone without being killed.
pub(crate) fn destroyed(monster: &Monster, at_ms: u64, actor: u32) -> Event {
    told(monster, "DESTROYED", at_ms, &format!("{{\"actorId\":{actor}}}"))
}

/// A character's client moves it from now on.
pub(crate) fn start_control(monster: &Monster, at_ms: u64, actor: u32) -> Event {
    let body = format!(
        "{{\"actorId\":{actor},\"x\":{},\"y\":{},\"stance\":{},\"fh\":{},\"team\":{}}}",
        monster.at.x, monster.at.y, monster.stance, monster.fh, monster.team
    );
    told(monster, "START_CONTROL", at_ms, &body)
}

/// A character's client no longer moves it.
pub(crate) fn stop_control(monster: &Monster, at_ms: u64, actor: u32) -> Event {
    told(monster, "STOP_CONTROL", at_ms, &format!("{{\"actorId\":{actor}}}"))
}

/// The outcome of an attack.
pub(crate) fn damaged(monster: &Monster, at_ms: u64, actor: u32, boss: bool) -> Event {
    told(monster, "DAMAGED", at_ms, &(wound(monster, actor, boss, true) + "}"))
}

/// Hp came back; clients show the new state.
pub(crate) fn refreshed(monster: &Monster, at_ms: u64, boss: bool) -> Event {
    let body = wound(monster, 0, boss, true) + ",\"source\":\"HEAL\"}";
    told(monster, "DAMAGED", at_ms, &body)
}

/// It fell.
pub(crate) fn killed(monster: &Monster, at_ms: u64, actor: u32, boss: bool) -> Event {
    told(monster, "KILLED", at_ms, &(wound(monster, actor, boss, false) + "}"))
}

fn wound(monster: &Monster, actor: u32, boss: bool, observed: bool) -> String {
    let observer = if observed {
        format!("\"observerId\":{},", monster.control_character_id)
    } else {
        String::new()
    };
    format!(
        "{{\"x\":{},\"y\":{},{observer}\"actorId\":{actor},\"boss\":{boss},\"damageEntries\":{}",
        monster.at.x,
        monster.at.y,
        sums_text(monster.damage_entries.sums())
    )
}

/// An effect began.
pub(crate) fn status_applied(monster: &Monster, at_ms: u64, effect: &Effect) -> Event {
    let body = json!({
        "effectId": effect.effect_id, "sourceType": effect.source_type,
        "sourceCharacterId": effect.source_character_id, "sourceSkillId": effect.source_skill_id,
        "sourceSkillLevel": effect.source_skill_level, "statuses": effect.statuses,
        "duration": effect.duration_ms,
    });
    with(monster, "STATUS_APPLIED", at_ms, &body)
}

/// An effect ran out.
pub(crate) fn status_expired(monster: &Monster, at_ms: u64, effect: &Effect) -> Event {
    let body = json!({ "effectId": effect.effect_id, "statuses": effect.statuses });
    with(monster, "STATUS_EXPIRED", at_ms, &body)
}

/// An effect was taken away.
pub(crate) fn status_cancelled(monster: &Monster, at_ms: u64, effect: &Effect) -> Event {
    let body = json!({ "effectId": effect.effect_id, "statuses": effect.statuses });
    with(monster, "STATUS_CANCELLED", at_ms, &body)
}

/// Part of an attack came back to the attacker.
pub(crate) fn reflected(monster: &Monster, at_ms: u64, reflected: &crate::Reflected) -> Event {
    let body = json!({
        "characterId": reflected.character_id, "reflectDamage": reflected.damage,
        "reflectType": reflected.kind,
    });
    with(monster, "DAMAGE_REFLECTED", at_ms, &body)
}

/// A friendly one dropped things.
pub(crate) fn friendly_drop(monster: &Monster, at_ms: u64, items: usize) -> Event {
    told(monster, "FRIENDLY_DROP", at_ms, &format!("{{\"itemCount\":{items}}}"))
}

/// It turned on its controller, or calmed down.
pub(crate) fn aggro_changed(monster: &Monster, at_ms: u64) -> Event {
    let body = format!(
        "{{\"controllerCharacterId\":{},\"controllerHasAggro\":{}}}",
        monster.control_character_id, monster.controller_has_aggro
    );
    told(monster, "AGGRO_CHANGED", at_ms, &body)
}

/// The monster's mp changed otherwise than by its own skills.
pub(crate) fn mp_changed(
    monster: &Monster,
    at_ms: u64,
    character: u32,
    skill: u32,
    reason: &str,
    amount: i64,
) -> Event {
    let body = json!({
        "characterId": character, "skillId": skill, "reason": reason, "amount": amount,
        "monsterMpAfter": monster.mp,
    });
    with(monster, "MP_CHANGED", at_ms, &body)
}

/// A command to another service, on the same stream: `drop.SPAWN`, `character.DEBUFF`, ….
pub(crate) fn command<T: Serialize>(monster: &Monster, kind: &str, at_ms: u64, body: &T) -> Event {
    with(monster, kind, at_ms, body)
}
