//! `worldkeep monsters ls|show|spawn|damage|destroy|teardown|templates`.

use monsters::{SHIPPED_TEMPLATES, Templates};
use serde_json::{Value, json};

use super::worlds::{Things, body, headers, list, path, template_verb, templates};
use crate::cli::Global;
use crate::cli::monsters::{Monsters, Spawn};
use crate::exit::Failure;
use crate::path as api;
use crate::remote::{self, Ask};
use crate::view::{Column, Show, col, text};

const THINGS: Things = Things { one: "monster", many: "monsters" };

const ROWS: &[Column] = &[
    col("id", "/id"),
    col("kind", "/attributes/monsterId"),
    col("hp", "/attributes/hp"),
    col("of", "/attributes/maxHp"),
    col("mp", "/attributes/mp"),
    col("x", "/attributes/x"),
    col("y", "/attributes/y"),
    col("controller", "/attributes/controlCharacterId"),
    col("effects", "/attributes/statusEffects").by(statuses),
];

const FACTS: &[Column] = &[
    col("id", "/data/id"),
    col("kind", "/data/attributes/monsterId"),
    col("hp", "/data/attributes/hp"),
    col("max hp", "/data/attributes/maxHp"),
    col("mp", "/data/attributes/mp"),
    col("max mp", "/data/attributes/maxMp"),
    col("world", "/data/attributes/worldId"),
    col("channel", "/data/attributes/channelId"),
    col("map", "/data/attributes/mapId"),
    col("instance", "/data/attributes/instance"),
    col("x", "/data/attributes/x"),
    col("y", "/data/attributes/y"),
    col("stance", "/data/attributes/stance"),
    col("controller", "/data/attributes/controlCharacterId"),
    col("effects", "/data/attributes/statusEffects").by(statuses),
    col("damage", "/data/attributes/damageEntries").by(damage),
];

const TEMPLATES: &[Column] = &[
    col("kind", "/id"),
    col("name", "/name"),
    col("hp", "/hp"),
    col("mp", "/mp"),
    col("boss", "/boss"),
    col("friendly", "/friendly"),
    col("revives", "/revives").by(numbers),
    col("skills", "/skills").by(|skills| {
        let all = skills.as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().map(|skill| text(&skill["id"])).collect::<Vec<_>>().join(" ")
    }),
];

fn statuses(effects: &Value) -> String {
    let all = effects.as_array().map(Vec::as_slice).unwrap_or_default();
    let names = all.iter().filter_map(|effect| effect["statuses"].as_object());
    names.flat_map(|one| one.keys().cloned()).collect::<Vec<_>>().join(" ")
}

fn damage(entries: &Value) -> String {
    let all = entries.as_array().map(Vec::as_slice).unwrap_or_default();
    let one =
        |entry: &Value| format!("{} by {}", text(&entry["damage"]), text(&entry["characterId"]));
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn numbers(list: &Value) -> String {
    let all = list.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().map(text).collect::<Vec<_>>().join(" ")
}

pub(super) fn run(global: &Global, verb: Monsters) -> Result<(), Failure> {
    match verb {
        Monsters::Ls { place, template } => {
            let ask = Ask::get(path(&place.field, "monsters")).query("monsterId", template);
            list(global, ask.headers(headers(&place.tenant)), ROWS, "no monster lives there")
        }
        Monsters::Show { id, tenant } => {
            let ask = Ask::get(api!("/api/monsters/{}", id)).headers(headers(&tenant));
            remote::run(global, &[], &ask, &Show::Facts(FACTS))
        }
        Monsters::Spawn(flags) => spawn(global, &flags),
        Monsters::Damage { id, damages, character, attack_type, tenant } => {
            let attributes = json!({
                "characterId": character, "damages": damages, "attackType": attack_type,
            });
            let ask = Ask::post(api!("/api/monsters/{}/damage", id))
                .headers(headers(&tenant))
                .body(body("damage", &attributes));
            let says = |answer: &Value| {
                let told = &answer["data"]["attributes"];
                if told["killed"] == true {
                    return format!("monster {id} is killed");
                }
                format!("monster {id} has {} hp left", text(&told["hp"]))
            };
            remote::run(global, &[], &ask, &Show::Says(&says))
        }
        Monsters::Destroy { id, place, .. } => THINGS.destroy(global, id, &place),
        Monsters::Teardown => THINGS.teardown(global),
        Monsters::Templates { verb: Some(verb), .. } => {
            template_verb(global, &verb, "Monsters and their skills", &monsters::file_kinds())
        }
        Monsters::Templates { catalogue, verb: None } => {
            templates(global, Templates::open(catalogue.as_deref(), SHIPPED_TEMPLATES), TEMPLATES)
        }
    }
}

fn spawn(global: &Global, flags: &Spawn) -> Result<(), Failure> {
    let attributes = json!({
        "monsterId": flags.template, "x": flags.at.x, "y": flags.at.y, "fh": flags.fh,
        "team": flags.team,
    });
    if flags.count > 1 {
        return spawn_many(global, flags, &attributes);
    }
    let ask = Ask::post(path(&flags.place.field, "monsters"))
        .headers(headers(&flags.place.tenant))
        .body(body("monsters", &attributes));
    let says = |answer: &Value| format!("monster {} lives there", text(&answer["data"]["id"]));
    remote::run(global, &[], &ask, &Show::Says(&says))
}

fn spawn_many(global: &Global, flags: &Spawn, attributes: &Value) -> Result<(), Failure> {
    let item = json!({ "type": "monsters", "attributes": attributes });
    let items = vec![item; usize::from(flags.count)];
    let ask = Ask::post(path(&flags.place.field, "monsters/bulk"))
        .headers(headers(&flags.place.tenant))
        .body(json!({ "data": items }));
    let says = |answer: &Value| {
        let first = &answer["data"][0];
        let why = text(&first["errors"][0]["detail"]);
        match answer["meta"]["done"].as_u64() {
            None | Some(0) => format!("none lives there: {why}"),
            Some(many) => {
                format!("{many} monsters live there, from {} on", text(&first["data"]["id"]))
            }
        }
    };
    remote::run(global, &[], &ask, &Show::Says(&says))
}
