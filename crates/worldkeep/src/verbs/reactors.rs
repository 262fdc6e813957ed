//! `worldkeep reactors ls|show|create|hit|destroy|teardown|templates`.

use reactors::{SHIPPED, Templates};
use serde_json::{Value, json};

use super::worlds::{Things, body, headers, list, path, template_verb, templates};
use crate::cli::Global;
use crate::cli::reactors::{Create, Reactors};
use crate::exit::Failure;
use crate::path as api;
use crate::remote::{self, Ask};
use crate::view::{self, Column, Show, col, text};

const THINGS: Things = Things { one: "reactor", many: "reactors" };

const ROWS: &[Column] = &[
    col("id", "/id"),
    col("kind", "/attributes/classification"),
    col("name", "/attributes/name"),
    col("state", "/attributes/state"),
    col("x", "/attributes/x"),
    col("y", "/attributes/y"),
    col("delay", "/attributes/delay").by(view::took),
];

const FACTS: &[Column] = &[
    col("id", "/data/id"),
    col("kind", "/data/attributes/classification"),
    col("name", "/data/attributes/name"),
    col("state", "/data/attributes/state"),
    col("world", "/data/attributes/worldId"),
    col("channel", "/data/attributes/channelId"),
    col("map", "/data/attributes/mapId"),
    col("instance", "/data/attributes/instance"),
    col("x", "/data/attributes/x"),
    col("y", "/data/attributes/y"),
    col("direction", "/data/attributes/direction"),
    col("delay", "/data/attributes/delay").by(view::took),
];

const TEMPLATES: &[Column] = &[
    col("kind", "/classification"),
    col("name", "/name"),
    col("states", "/states").by(|states| {
        let names = states.as_object().map(|all| all.keys().cloned().collect::<Vec<_>>());
        names.unwrap_or_default().join(" ")
    }),
    col("about", "/about"),
];

pub(super) fn run(global: &Global, verb: Reactors) -> Result<(), Failure> {
    match verb {
        Reactors::Ls { place, name } => {
            let ask = Ask::get(path(&place.field, "reactors")).query("name", name);
            list(global, ask.headers(headers(&place.tenant)), ROWS, "no reactor stands there")
        }
        Reactors::Show { id, tenant } => {
            let ask = Ask::get(api!("/api/reactors/{}", id)).headers(headers(&tenant));
            remote::run(global, &[], &ask, &Show::Facts(FACTS))
        }
        Reactors::Create(flags) => create(global, flags),
        Reactors::Hit { id, character, skill, tenant } => {
            let attributes = json!({ "characterId": character, "skillId": skill });
            let ask = Ask::post(api!("/api/reactors/{}/hits", id))
                .headers(headers(&tenant))
                .body(body("hits", &attributes));
            let says = |answer: &Value| {
                let told = &answer["data"]["attributes"];
                match told["result"].as_str() {
                    Some("DESTROYED") => format!("reactor {id} is destroyed"),
                    Some("NO_MATCH") => format!("reactor {id} does not answer to that"),
                    _ => format!("reactor {id} is in state {} now", text(&told["state"])),
                }
            };
            remote::run(global, &[], &ask, &Show::Says(&says))
        }
        Reactors::Destroy { id, place, .. } => THINGS.destroy(global, id, &place),
        Reactors::Teardown => THINGS.teardown(global),
        Reactors::Templates { verb: Some(verb), .. } => {
            template_verb(global, &verb, "Reactors", &reactors::file_kinds())
        }
        Reactors::Templates { catalogue, verb: None } => {
            templates(global, Templates::open(catalogue.as_deref(), SHIPPED), TEMPLATES)
        }
    }
}

fn create(global: &Global, flags: Create) -> Result<(), Failure> {
    let data: Option<Value> = match flags.behaviour {
        None => None,
        Some(text) => Some(
            serde_json::from_str(&text)
                .map_err(|error| Failure::usage(format!("--behaviour is not JSON: {error}")))?,
        ),
    };
    let attributes = json!({
        "classification": flags.classification, "name": flags.name, "state": flags.state,
        "x": flags.at.x, "y": flags.at.y, "delay": flags.delay, "direction": flags.direction,
        "data": data,
    });
    let ask = Ask::post(path(&flags.place.field, "reactors"))
        .headers(headers(&flags.place.tenant))
        .body(body("reactors", &attributes));
    let says = |answer: &Value| format!("reactor {} stands there", text(&answer["data"]["id"]));
    remote::run(global, &[], &ask, &Show::Says(&says))
}
