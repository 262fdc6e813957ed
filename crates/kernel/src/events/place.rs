//! The place of an event, and the boxes to which a reader limits itself. Events of reactors and monsters name their
//! field (`worldId`, `channelId`, `mapId`, `instance`) and where their subject is (`x`, `y`); a move also says where
//! from. A box sees an event of its field that happened inside, edges included, and a move that begins or ends inside.

use std::borrow::Cow;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

/// World, channel, map and instance.
type FieldParts = (u8, u8, u32, Uuid);

/// The place where an event happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventPlace {
    field: FieldParts,
    /// `None`: somewhere in the field.
    at: Option<(i16, i16)>,
    /// The point where a move began.
    from: Option<(i16, i16)>,
}

/// The members of a body that tell a place.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BodyPlace<'a> {
    world_id: u8,
    channel_id: u8,
    map_id: u32,
    #[serde(borrow)]
    instance: Option<Cow<'a, str>>,
    x: Option<i16>,
    y: Option<i16>,
    body: Option<InnerPoint>,
}

/// The same of what stands inside: upstream's messages have the point there.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InnerPoint {
    x: Option<i16>,
    y: Option<i16>,
    from_x: Option<i16>,
    from_y: Option<i16>,
}

impl EventPlace {
    /// The place that the body of an event tells; `None` where it tells none.
    pub fn read(body: &str) -> Option<Self> {
        let told: BodyPlace<'_> = serde_json::from_str(body).ok()?;
        let instance = match &told.instance {
            Some(text) => Uuid::parse_str(text).ok()?,
            None => Uuid::nil(),
        };
        let inner = told.body.unwrap_or_default();
        Some(EventPlace {
            field: (told.world_id, told.channel_id, told.map_id, instance),
            at: told.x.zip(told.y).or(inner.x.zip(inner.y)),
            from: inner.from_x.zip(inner.from_y),
        })
    }
}

/// A box of a field, given by two opposite corners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct EventBox {
    field: FieldParts,
    least: (i16, i16),
    most: (i16, i16),
}

impl EventBox {
    /// A reader has no more boxes: each event is held against all of them.
    pub const MOST: usize = 64;

    /// Whether an event at this place is seen. One that only names its field is.
    pub fn sees(&self, place: &EventPlace) -> bool {
        let (least, most) = (self.least, self.most);
        let inside =
            |(x, y): (i16, i16)| (least.0..=most.0).contains(&x) && (least.1..=most.1).contains(&y);
        self.field == place.field
            && place.at.is_none_or(|at| inside(at) || place.from.is_some_and(inside))
    }
}

const NAMES: [&str; 8] = ["worldId", "channelId", "mapId", "instance", "x1", "y1", "x2", "y2"];

impl TryFrom<Map<String, Value>> for EventBox {
    type Error = String;

    /// Reads `{"worldId","channelId","mapId","instance"?,"x1","y1","x2","y2"}`. The error names the member.
    fn try_from(members: Map<String, Value>) -> Result<Self, String> {
        if let Some(stranger) = members.keys().find(|name| !NAMES.contains(&name.as_str())) {
            return Err(format!("a box has no member {stranger:?}"));
        }
        let number = |name: &str, least: i64, most: i64| {
            let found = members.get(name).and_then(Value::as_i64);
            found.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
                format!("{name} of a box must be a whole number from {least} to {most}")
            })
        };
        let part =
            |name| number(name, 0, u8::MAX.into()).map(|part| u8::try_from(part).unwrap_or(0));
        let map = number("mapId", 0, u32::MAX.into())?;
        let side = |name| {
            let side = number(name, i16::MIN.into(), i16::MAX.into());
            side.map(|side| i16::try_from(side).unwrap_or(0))
        };
        let instance = match members.get("instance") {
            None => Uuid::nil(),
            Some(text) => text
                .as_str()
                .and_then(|text| Uuid::parse_str(text).ok())
                .ok_or("instance of a box must be a UUID")?,
        };
        let (x1, y1, x2, y2) = (side("x1")?, side("y1")?, side("x2")?, side("y2")?);
        Ok(EventBox {
            field: (
                part("worldId")?,
                part("channelId")?,
                u32::try_from(map).unwrap_or(0),
                instance,
            ),
            least: (x1.min(x2), y1.min(y2)),
            most: (x1.max(x2), y1.max(y2)),
        })
    }
}

impl FromStr for EventBox {
    type Err = String;

    /// Reads `world:channel:map@x1,y1,x2,y2` or `world:channel:map:instance@x1,y1,x2,y2`.
    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || "a box is written world:channel:map@x1,y1,x2,y2".to_owned();
        let (field, corners) = text.split_once('@').ok_or_else(shape)?;
        let field: Vec<&str> = field.split(':').collect();
        let corners: Vec<&str> = corners.split(',').collect();
        if !matches!(field.len(), 3 | 4) || corners.len() != 4 {
            return Err(shape());
        }
        let mut members = Map::new();
        for (name, part) in NAMES.iter().zip(&field).chain(NAMES[4..].iter().zip(&corners)) {
            let number = part.parse::<i64>().map(Value::from);
            members.insert((*name).to_owned(), number.unwrap_or_else(|_| Value::from(*part)));
        }
        EventBox::try_from(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(body: &str) -> EventPlace {
        EventPlace::read(body).unwrap()
    }

    #[test]
    fn a_box_sees_what_happens_inside_and_moves_over_its_edge() {
        let seen: EventBox = "0:1:40000@100,50,-100,-50".parse().unwrap();
        let monster = |x: i32, y: i32, body: &str| {
            event(&format!(
                r#"{{"worldId":0,"channelId":1,"mapId":40000,"instance":"00000000-0000-0000-0000-000000000000","uniqueId":7,"body":{body},"life":1,"x":{x},"y":{y}}}"#
            ))
        };
        for (x, y, inside) in [(0, 0, true), (100, 50, true), (-100, -50, true), (101, 0, false)] {
            assert_eq!(seen.sees(&monster(x, y, r#"{"actorId":0}"#)), inside, "{x} {y}");
        }
        let leaves = monster(500, 0, r#"{"fromX":90,"fromY":0}"#);
        let enters = monster(90, 0, r#"{"fromX":500,"fromY":0}"#);
        let passes = monster(500, 0, r#"{"fromX":-500,"fromY":0}"#);
        assert!(seen.sees(&leaves) && seen.sees(&enters) && !seen.sees(&passes));
        // A reactor has its point inside; what only names the field is seen.
        let at =
            |more: &str| event(&format!(r#"{{"worldId":0,"channelId":1,"mapId":40000{more}}}"#));
        assert!(seen.sees(&at(r#","body":{"x":1,"y":2}"#)) && seen.sees(&at("")));
        assert!(!seen.sees(&at(r#","body":{"x":1,"y":200}"#)));
        let other = r#"{"worldId":0,"channelId":2,"mapId":40000,"x":0,"y":0}"#;
        assert!(!seen.sees(&event(other)));
        for none in ["7", "{}", "\"text\"", r#"{"worldId":0,"channelId":1}"#, r#"{"worldId":-1}"#] {
            assert_eq!(EventPlace::read(none), None, "{none}");
        }
    }

    #[test]
    fn a_box_that_is_none_is_told_by_the_name_of_its_member() {
        let read = |text: &str| serde_json::from_str::<EventBox>(text).map_err(|e| e.to_string());
        let good =
            r#"{"worldId":0,"channelId":1,"mapId":40000,"x1":-100,"y1":-50,"x2":100,"y2":50}"#;
        assert_eq!(read(good), Ok("0:1:40000@-100,-50,100,50".parse().unwrap()));
        let nil = Uuid::nil();
        assert_eq!(read(good), Ok(format!("0:1:40000:{nil}@100,50,-100,-50").parse().unwrap()));
        for (from, to, named) in [
            ("\"x1\":-100", "\"x1\":-40000", "x1 of a box"),
            ("\"x1\":-100,", "", "x1 of a box"),
            ("\"y2\":50", "\"y2\":1.5", "y2 of a box"),
            ("\"mapId\":40000", "\"mapId\":\"m\"", "mapId of a box"),
            ("\"worldId\":0", "\"worldId\":256", "worldId of a box"),
            ("{", "{\"instance\":7,", "instance of a box"),
            ("{", "{\"z\":7,", "no member \"z\""),
        ] {
            let told = read(&good.replacen(from, to, 1)).unwrap_err();
            assert!(told.contains(named), "{told}");
        }
        for bad in ["", "0:1@1,2,3,4", "0:1:2@1,2,3", "0:1:2", "0:1:2:x@1,2,3,4", "0:1:2@1,2,3,q"] {
            assert!(bad.parse::<EventBox>().is_err(), "{bad}");
        }
    }
}
