//! Keyspace notifications: `notify-keyspace-events` and the two channels of an event.

use crate::core::Core;

/// Classes of events, as bits.
pub(crate) mod class {
    pub(crate) const KEYSPACE: u32 = 1 << 0; // K
    pub(crate) const KEYEVENT: u32 = 1 << 1; // E
    pub(crate) const GENERIC: u32 = 1 << 2; // g
    pub(crate) const STRING: u32 = 1 << 3; // $
    pub(crate) const LIST: u32 = 1 << 4; // l
    pub(crate) const SET: u32 = 1 << 5; // s
    pub(crate) const HASH: u32 = 1 << 6; // h
    pub(crate) const ZSET: u32 = 1 << 7; // z
    pub(crate) const EXPIRED: u32 = 1 << 8; // x
    pub(crate) const EVICTED: u32 = 1 << 9; // e
    pub(crate) const STREAM: u32 = 1 << 10; // t
    pub(crate) const KEY_MISS: u32 = 1 << 11; // m, not in A
    pub(crate) const MODULE: u32 = 1 << 12; // d
    pub(crate) const NEW: u32 = 1 << 13; // n, not in A
    pub(crate) const ALL: u32 =
        GENERIC | STRING | LIST | SET | HASH | ZSET | EXPIRED | EVICTED | STREAM | MODULE;
}

/// Letters in the order in which `CONFIG GET` prints them (after `A`).
const LETTERS: &[(u8, u32)] = &[
    (b'g', class::GENERIC),
    (b'$', class::STRING),
    (b'l', class::LIST),
    (b's', class::SET),
    (b'h', class::HASH),
    (b'z', class::ZSET),
    (b'x', class::EXPIRED),
    (b'e', class::EVICTED),
    (b't', class::STREAM),
    (b'd', class::MODULE),
    (b'n', class::NEW),
    (b'K', class::KEYSPACE),
    (b'E', class::KEYEVENT),
    (b'm', class::KEY_MISS),
];

/// Bits of a `notify-keyspace-events` value; `None` for an unknown letter.
pub(crate) fn parse_flags(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |bits, letter| {
        if *letter == b'A' {
            return Some(bits | class::ALL);
        }
        LETTERS.iter().find(|(known, _)| known == letter).map(|(_, bit)| bits | bit)
    })
}

/// The value as `CONFIG GET` prints it.
pub(crate) fn flags_text(bits: u32) -> String {
    let all = bits & class::ALL == class::ALL;
    let mut text = String::from(if all { "A" } else { "" });
    for (letter, bit) in LETTERS {
        if bits & bit != 0 && !(all && class::ALL & bit != 0) {
            text.push(char::from(*letter));
        }
    }
    text
}

/// Publishes an event whose class is switched on.
pub(crate) fn publish(core: &mut Core, event: &str, key: &[u8]) {
    let flags = core.config.notify_flags;
    if flags & class::KEYSPACE != 0 {
        let channel = [format!("__keyspace@{}__:", core.db).as_bytes(), key].concat();
        crate::core::pubsub::publish(core, &channel, event.as_bytes());
    }
    if flags & class::KEYEVENT != 0 {
        let channel = format!("__keyevent@{}__:{event}", core.db);
        crate::core::pubsub::publish(core, channel.as_bytes(), key);
    }
}
