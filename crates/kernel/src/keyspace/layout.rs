//! The two layouts, and the Cluster slot of a key. `plain` is the seeds' bytes; `tagged` puts a hash tag
//! around the scope (room code, tenant, job namespace), so that every step of a scope stays in one slot.

use std::fmt;
use std::str::FromStr;

/// How keys are spelled. One setting for all modules; values are the same in both.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// The seeds' bytes.
    #[default]
    Plain,
    /// A hash tag around each module's scope.
    Tagged,
}

impl Layout {
    /// Both, plain first.
    pub const ALL: [Layout; 2] = [Layout::Plain, Layout::Tagged];

    /// The word of the setting.
    pub const fn word(self) -> &'static str {
        match self {
            Layout::Plain => "plain",
            Layout::Tagged => "tagged",
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A layout that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown layout {0:?}: say plain or tagged")]
pub struct UnknownLayout(String);

impl FromStr for Layout {
    type Err = UnknownLayout;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "plain" => Ok(Layout::Plain),
            "tagged" => Ok(Layout::Tagged),
            other => Err(UnknownLayout(other.to_owned())),
        }
    }
}

/// How many slots a Cluster has.
pub const SLOTS: u16 = 16_384;

/// The Cluster slot of a key: CRC16 of its hash tag, or of all of it when it has none.
pub fn slot(key: &[u8]) -> u16 {
    crc16(hash_tag(key)) % SLOTS
}

/// The bytes that decide the slot, the hash tag: those between the first `{` and the next `}`, when
/// there are any, or else the whole key.
fn hash_tag(key: &[u8]) -> &[u8] {
    let Some(open) = key.iter().position(|&byte| byte == b'{') else { return key };
    let inner = &key[open + 1..];
    match inner.iter().position(|&byte| byte == b'}') {
        None | Some(0) => key,
        Some(close) => &inner[..close],
    }
}

/// CRC16 as Cluster defines it (polynomial 0x1021, start 0).
fn crc16(bytes: &[u8]) -> u16 {
    const TABLE: [u16; 256] = table();
    bytes.iter().fold(0, |crc, &byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let mut crc = byte << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_a_real_cluster() {
        // Answers of `CLUSTER KEYSLOT` on Redis 7.0.15.
        for (key, expected) in [
            ("123456789", 12_739),
            ("connections:online", 14_339),
            ("{connections:online}:count", 14_339),
            ("foo{}{bar}", 8_363),
            ("foo{{bar}}zap", 4_015),
            ("foo{bar}{zap}", 5_061),
            ("", 0),
        ] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
    }

    #[test]
    fn layout_words_round_trip() {
        for layout in Layout::ALL {
            assert_eq!(layout.word().parse(), Ok(layout));
        }
        assert!("Tagged".parse::<Layout>().is_err());
    }
}
