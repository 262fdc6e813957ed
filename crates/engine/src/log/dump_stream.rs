//! A stream as the commands that make it: entries, then what is known of those gone, then the groups with their
//! consumers and pending entries. A pending entry whose stream entry is gone cannot be told this way, as in Redis.

use crate::data::Stream;
use crate::data::stream::Id;
use crate::log::pending::encode;

pub(crate) fn dump(buf: &mut Vec<u8>, key: &[u8], stream: &Stream) {
    let entries = &stream.entries;
    for entry in entries.range(Id::ZERO, Id::MAX) {
        let id = entry.id.to_string();
        let parts = entry.to_vec();
        let mut argv: Vec<&[u8]> = vec![b"XADD", key, id.as_bytes()];
        argv.extend(parts.iter().map(Vec::as_slice));
        encode(buf, &argv);
    }
    if entries.is_empty() {
        // An entry that goes at once leaves the empty stream.
        encode(buf, &[b"XADD", key, b"MAXLEN", b"0", b"0-1", b"x", b"y"]);
    }
    encode(
        buf,
        &[
            b"XSETID",
            key,
            entries.last_id.to_string().as_bytes(),
            b"ENTRIESADDED",
            entries.added.to_string().as_bytes(),
            b"MAXDELETEDID",
            entries.max_deleted_id.to_string().as_bytes(),
        ],
    );
    for (name, group) in &stream.groups.0 {
        let read = group.entries_read.unwrap_or(-1).to_string();
        let last = group.last_id.to_string();
        encode(
            buf,
            &[b"XGROUP", b"CREATE", key, name, last.as_bytes(), b"ENTRIESREAD", read.as_bytes()],
        );
        for consumer in group.consumers.keys() {
            encode(buf, &[b"XGROUP", b"CREATECONSUMER", key, name, consumer]);
        }
        for (id, pending) in &group.pending {
            encode(
                buf,
                &[
                    b"XCLAIM",
                    key,
                    name,
                    &pending.consumer,
                    b"0",
                    id.to_string().as_bytes(),
                    b"TIME",
                    pending.delivered_ms.to_string().as_bytes(),
                    b"RETRYCOUNT",
                    pending.deliveries.to_string().as_bytes(),
                    b"JUSTID",
                    b"FORCE",
                ],
            );
        }
    }
}
