//! Events in upstream's shapes: status events of a reactor, and the commands to scripts and drops
//! that go along with them. The whole message is the `body` of the common envelope.

use field::Field;
use kernel::Event;
use kernel::numbers::Dialect;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::Reactor;

/// A message of upstream's with an empty place for its body.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status<'a> {
    world_id: u8,
    channel_id: u8,
    map_id: u32,
    instance: Uuid,
    reactor_id: u32,
    #[serde(rename = "type")]
    kind: &'a str,
    body: Body<'a>,
}

/// Bodies in the order of their members upstream.
#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Body<'a> {
    Created {
        classification: u32,
        name: &'a str,
        state: i8,
        event_state: u8,
        delay: u32,
        direction: u8,
        x: i16,
        y: i16,
        update_time: &'a str,
    },
    Hit {
        classification: u32,
        state: i8,
        x: i16,
        y: i16,
        direction: u8,
        destroyed: bool,
    },
    Destroyed {
        state: i8,
        x: i16,
        y: i16,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScriptCommand<'a> {
    world_id: u8,
    channel_id: u8,
    map_id: u32,
    instance: Uuid,
    reactor_id: u32,
    /// Upstream sends it as text.
    classification: String,
    reactor_name: &'a str,
    reactor_state: i8,
    x: i16,
    y: i16,
    #[serde(rename = "type")]
    kind: &'a str,
    body: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DropCommand<'a> {
    #[serde(flatten)]
    field: Field,
    #[serde(rename = "type")]
    kind: &'a str,
    body: Value,
}

fn status<'a>(reactor: &Reactor, kind: &'a str, body: Body<'a>) -> Status<'a> {
    let Reactor { id, world_id, channel_id, map_id, instance, .. } = *reactor;
    Status { world_id, channel_id, map_id, instance, reactor_id: id, kind, body }
}

fn event<T: Serialize>(kind: &str, now_ms: u64, id: u32, message: &T) -> Event {
    Event::new(kind, now_ms, id.to_string(), message, Dialect::Go)
        .expect("messages are plain data, which is always JSON")
}

/// The message of `CREATED`, up to the id and from behind it: the id is drawn in the step.
pub(crate) fn created(reactor: &Reactor) -> serde_json::Result<(String, String)> {
    let body = Body::Created {
        classification: reactor.classification,
        name: &reactor.name,
        state: reactor.state,
        event_state: reactor.event_state,
        delay: reactor.delay,
        direction: reactor.direction,
        x: reactor.x,
        y: reactor.y,
        update_time: &reactor.update_time,
    };
    let text = serde_json::to_string(&status(reactor, "CREATED", body))?;
    let id = format!("\"reactorId\":{},", reactor.id);
    let (head, tail) = text.split_once(&id).expect("the message has its reactor's id");
    Ok((format!("{head}\"reactorId\":"), format!(",{tail}")))
}

/// It stands, in its new state.
pub(crate) fn hit(reactor: &Reactor, now_ms: u64) -> Event {
    let Reactor { classification, state, x, y, direction, .. } = *reactor;
    let body = Body::Hit { classification, state, x, y, direction, destroyed: false };
    event("HIT", now_ms, reactor.id, &status(reactor, "HIT", body))
}

/// It is gone.
pub(crate) fn destroyed(reactor: &Reactor, now_ms: u64) -> Event {
    let Reactor { state, x, y, .. } = *reactor;
    let message = status(reactor, "DESTROYED", Body::Destroyed { state, x, y });
    event("DESTROYED", now_ms, reactor.id, &message)
}

/// The command that tells the reactor's script of a hit; the state is the one before it.
pub(crate) fn script_hit(
    reactor: &Reactor,
    character_id: u32,
    skill_id: u32,
    now_ms: u64,
) -> Event {
    let body =
        json!({ "characterId": character_id, "skillId": skill_id, "isSkill": skill_id != 0 });
    script(reactor, "HIT", "script.HIT", body, now_ms)
}

/// The command that tells the reactor's script that the reactor has come to an end.
pub(crate) fn script_trigger(reactor: &Reactor, character_id: u32, now_ms: u64) -> Event {
    script(reactor, "TRIGGER", "script.TRIGGER", json!({ "characterId": character_id }), now_ms)
}

fn script(reactor: &Reactor, kind: &str, told: &str, body: Value, now_ms: u64) -> Event {
    let Reactor { id, world_id, channel_id, map_id, instance, x, y, state, .. } = *reactor;
    let message = ScriptCommand {
        world_id,
        channel_id,
        map_id,
        instance,
        reactor_id: id,
        classification: reactor.classification.to_string(),
        reactor_name: &reactor.name,
        reactor_state: state,
        x,
        y,
        kind,
        body,
    };
    event(told, now_ms, id, &message)
}

/// The service of drops is told that the item is used up.
pub(crate) fn consume(reactor: &Reactor, drop_id: u32, now_ms: u64) -> Event {
    let message =
        DropCommand { field: reactor.field(), kind: "CONSUME", body: json!({ "dropId": drop_id }) };
    event("drop.CONSUME", now_ms, reactor.id, &message)
}
