//! A reactor as the API shows it, and what comes in for one: everything is checked here, by name and range,
//! before anything is written.

use field::Field;
use reactors::{Drop, Hit, New, Reactor, Struck};
use serde::Serialize;

use crate::reply::Refusal;
use crate::worlds::attributes::Attributes;

/// The longest name that is taken.
const NAME: usize = 1_024;

/// A reactor as the API shows it. Its data, its tenant and its time of change are not shown.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReactorAttributes {
    world_id: u8,
    channel_id: u8,
    map_id: u32,
    instance: String,
    classification: u32,
    name: String,
    state: i8,
    event_state: u8,
    x: i16,
    y: i16,
    delay: u32,
    direction: u8,
}

impl From<Reactor> for ReactorAttributes {
    fn from(from: Reactor) -> Self {
        ReactorAttributes {
            world_id: from.world_id,
            channel_id: from.channel_id,
            map_id: from.map_id,
            instance: from.instance.to_string(),
            classification: from.classification,
            name: from.name,
            state: from.state,
            event_state: from.event_state,
            x: from.x,
            y: from.y,
            delay: from.delay,
            direction: from.direction,
        }
    }
}

/// The outcome of a hit.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct HitAttributes {
    /// `HIT`, `DESTROYED` or `NO_MATCH`.
    result: &'static str,
    /// The state it has, or had.
    state: i8,
    /// Whether it is gone.
    destroyed: bool,
}

impl From<Struck> for HitAttributes {
    fn from(struck: Struck) -> Self {
        let (result, state, destroyed) = match struck {
            Struck::Hit { state } => ("HIT", state, false),
            Struck::Destroyed { state } => ("DESTROYED", state, true),
            Struck::NoMatch { state } => ("NO_MATCH", state, false),
        };
        HitAttributes { result, state, destroyed }
    }
}

/// Which reactor will take a drop.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DropAttributes {
    /// Null when none does.
    pub(crate) reactor_id: Option<String>,
}

/// A body for a new reactor, for the API's description.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewReactor {
    /// Not 0; looked up in the catalogue when there is no `data`.
    classification: u32,
    /// Empty takes the name of its kind.
    name: Option<String>,
    state: Option<i8>,
    x: i16,
    y: i16,
    /// Milliseconds during which its spot stays empty after it.
    delay: Option<u32>,
    direction: Option<u8>,
    /// As it is stored: `stateInfo`, `timeoutInfo` and so on.
    #[schema(value_type = Option<Object>)]
    data: Option<String>,
}

/// A body for a hit.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewHit {
    character_id: u32,
    /// 0, the default, is a plain attack.
    skill_id: Option<u32>,
}

/// A body for a drop.
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(dead_code)] // read by its derive
pub(crate) struct NewDrop {
    drop_id: u32,
    item_id: u32,
    quantity: u16,
    x: i16,
    y: i16,
    owner_id: u32,
    /// Others are ignored.
    player_drop: bool,
}

/// Reads a new reactor.
pub(crate) fn new(field: Field, given: &Attributes) -> Result<New, Refusal> {
    Ok(New {
        field,
        classification: given.number("classification")?.unwrap_or(0),
        name: given.text("name", NAME)?.unwrap_or_default(),
        state: given.number("state")?.unwrap_or(0),
        x: given.need("x")?,
        y: given.need("y")?,
        delay: given.number("delay")?.unwrap_or(0),
        direction: given.number("direction")?.unwrap_or(0),
        data: given.json("data")?,
        guarded: true,
    })
}

/// Reads a hit.
pub(crate) fn hit(given: &Attributes) -> Result<Hit, Refusal> {
    Ok(Hit {
        character_id: given.need("characterId")?,
        skill_id: given.number("skillId")?.unwrap_or(0),
    })
}

/// Reads a drop.
pub(crate) fn drop(given: &Attributes) -> Result<Drop, Refusal> {
    Ok(Drop {
        drop_id: given.need("dropId")?,
        item_id: given.need("itemId")?,
        quantity: given.need("quantity")?,
        x: given.need("x")?,
        y: given.need("y")?,
        owner_id: given.need("ownerId")?,
        player_drop: given.flag("playerDrop")?.unwrap_or(false),
    })
}
