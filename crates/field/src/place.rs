//! A place in a world, the field: world, channel, map and instance together.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Bad, number, uuid};

/// One field. A map without instances has the nil UUID, which is printed in full like any other.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The number of the world.
    pub world_id: u8,
    /// The channel of the world.
    pub channel_id: u8,
    /// The number of the map.
    pub map_id: u32,
    /// The copy of the map.
    #[serde(default)]
    pub instance: Uuid,
}

impl Field {
    /// From the parts of a path. A number out of its range is refused, never cut.
    pub fn parse(world: &str, channel: &str, map: &str, instance: &str) -> Result<Self, Bad> {
        Ok(Field {
            world_id: number("worldId", world)?,
            channel_id: number("channelId", channel)?,
            map_id: number("mapId", map)?,
            instance: uuid("instance", instance)?,
        })
    }

    /// The part of an address that names it.
    pub fn path(&self) -> String {
        let Field { world_id, channel_id, map_id, instance } = self;
        format!("worlds/{world_id}/channels/{channel_id}/maps/{map_id}/instances/{instance}")
    }
}

/// `0:1:1000000:00000000-…`, as it stands in keys.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.world_id, self.channel_id, self.map_id, self.instance)
    }
}

impl std::str::FromStr for Field {
    type Err = Bad;

    /// Reads the text that [`fmt::Display`] writes; the instance may be left out.
    fn from_str(text: &str) -> Result<Self, Bad> {
        let nil = Uuid::nil().to_string();
        match text.split(':').collect::<Vec<_>>()[..] {
            [world, channel, map] => Field::parse(world, channel, map, &nil),
            [world, channel, map, instance] => Field::parse(world, channel, map, instance),
            _ => {
                Err(Bad::new("field", "is written world:channel:map or world:channel:map:instance"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_written_and_read_alike() {
        let field: Field = "0:1:1000000".parse().unwrap();
        let text = "0:1:1000000:00000000-0000-0000-0000-000000000000";
        assert_eq!(field.to_string(), text);
        assert_eq!(text.parse(), Ok(field));
    }

    #[test]
    fn a_part_out_of_range_is_named() {
        let nil = Uuid::nil().to_string();
        for (parts, named) in [
            (["256", "0", "0", &nil], "worldId"),
            (["0", "-1", "0", &nil], "channelId"),
            (["0", "0", "4294967296", &nil], "mapId"),
            (["0", "0", "0", "*"], "instance"),
        ] {
            let [world, channel, map, instance] = parts;
            assert_eq!(Field::parse(world, channel, map, instance).unwrap_err().field, named);
        }
        assert!("0:1".parse::<Field>().is_err());
    }
}
