//! Routes of commands in a Cluster: to the owner of the first key, to any node, or to every primary
//! with the answers put together. A command whose keys lie in different slots is the server's to
//! refuse.

use kernel::keyspace::slot;
use kernel::{Cmd, Value};

use crate::command_class::words;

/// The nodes that a command is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// To the owner of this slot.
    Slot(u16),
    /// To whoever is up.
    Any,
    /// To every primary.
    All(Combine),
    /// `SCAN`: one primary after the other, told apart in the cursor.
    Scan,
}

/// How the answers of all primaries become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Concat,
    /// All must agree to do it; the first answer stands for all.
    First,
}

/// Looks at name and arguments.
pub(crate) fn target(cmd: &Cmd) -> Destination {
    let mut rest = words(cmd);
    let name = rest.next().unwrap_or_default().to_ascii_uppercase();
    let key =
        |at: usize| words(cmd).nth(at).map_or(Destination::Any, |key| Destination::Slot(slot(key)));
    let word = |at: usize| words(cmd).nth(at).unwrap_or_default().to_ascii_uppercase();
    match &*name {
        b"SCAN" => Destination::Scan,
        b"DBSIZE" => Destination::All(Combine::Sum),
        b"KEYS" => Destination::All(Combine::Concat),
        b"FLUSHALL" | b"FLUSHDB" | b"FUNCTION" => Destination::All(Combine::First),
        b"SCRIPT" if matches!(&*word(1), b"FLUSH" | b"LOAD" | b"EXISTS") => {
            Destination::All(Combine::First)
        }
        b"CONFIG" if matches!(&*word(1), b"SET" | b"RESETSTAT" | b"REWRITE") => {
            Destination::All(Combine::First)
        }
        b"EVAL" | b"EVALSHA" | b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO" => {
            if word(2) == b"0" { Destination::Any } else { key(3) }
        }
        b"BLMPOP" | b"BZMPOP" => key(3),
        b"BITOP" | b"XGROUP" | b"XINFO" | b"OBJECT" | b"LMPOP" | b"ZMPOP" | b"SINTERCARD"
        | b"ZINTERCARD" | b"ZUNION" | b"ZINTER" | b"ZDIFF" => key(2),
        b"MEMORY" | b"DEBUG" => {
            if matches!(&*word(1), b"USAGE" | b"OBJECT") {
                key(2)
            } else {
                Destination::Any
            }
        }
        b"XREAD" | b"XREADGROUP" => {
            let streams = words(cmd).position(|word| word.eq_ignore_ascii_case(b"STREAMS"));
            streams.map_or(Destination::Any, |at| key(at + 1))
        }
        b"PING" | b"ECHO" | b"TIME" | b"INFO" | b"CONFIG" | b"PUBLISH" | b"PUBSUB" | b"CLIENT"
        | b"CLUSTER" | b"COMMAND" | b"ACL" | b"SCRIPT" | b"LATENCY" | b"SLOWLOG" | b"ROLE"
        | b"LASTSAVE" | b"RANDOMKEY" | b"WAIT" | b"WAITAOF" | b"LOLWUT" | b"MODULE" => {
            Destination::Any
        }
        _ => key(1),
    }
}

/// Puts the answers of all primaries together.
pub(crate) fn combine(how: Combine, values: Vec<Value>) -> Value {
    match how {
        Combine::First => values.into_iter().next().unwrap_or(Value::Nil),
        Combine::Sum => Value::Int(
            values
                .iter()
                .map(|value| if let Value::Int(number) = value { *number } else { 0 })
                .sum(),
        ),
        Combine::Concat => Value::Array(
            values
                .into_iter()
                .flat_map(|value| if let Value::Array(items) = value { items } else { Vec::new() })
                .collect(),
        ),
    }
}

/// A cursor over many nodes: the node's own cursor, and which node, in one number.
const NODES_MAX: u64 = 1024; // more primaries than a Cluster is said to bear

/// Splits the cursor that a caller holds.
pub(crate) fn split_cursor(cursor: u64) -> (u64, usize) {
    (cursor / NODES_MAX, usize::try_from(cursor % NODES_MAX).unwrap_or(0))
}

/// The cursor to give out after a node gave `own`; `None` when it does not fit in 64 bits.
pub(crate) fn join_cursor(own: u64, node: usize, nodes: usize) -> Option<u64> {
    let (own, node) = if own == 0 { (0, node + 1) } else { (own, node) };
    if own == 0 && node >= nodes {
        return Some(0);
    }
    own.checked_mul(NODES_MAX)?.checked_add(node as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Destination {
        let mut cmd = Cmd::new();
        for word in line.split(' ') {
            cmd.arg(word);
        }
        target(&cmd)
    }

    #[test]
    fn the_first_key_decides() {
        let at = Destination::Slot(slot(b"k"));
        for line in [
            "get k",
            "EVALSHA abc 1 k arg",
            "XREADGROUP GROUP g c COUNT 1 STREAMS k >",
            "xinfo STREAM k",
            "MEMORY USAGE k",
            "ZUNION 1 k",
            "DEL k l",
            "WATCH k",
        ] {
            assert_eq!(of(line), at, "{line}");
        }
        assert_eq!(of("EVAL x 0"), Destination::Any);
        assert_eq!(of("PUBLISH k x"), Destination::Any);
        assert_eq!(of("DBSIZE"), Destination::All(Combine::Sum));
        assert_eq!(of("SCAN 0 MATCH k"), Destination::Scan);
    }

    #[test]
    fn a_cursor_walks_every_node_and_ends() {
        let mut cursor = 0;
        let mut seen = Vec::new();
        loop {
            let (own, node) = split_cursor(cursor);
            seen.push((own, node));
            let next = if own == 0 { 7 } else { 0 };
            cursor = join_cursor(next, node, 3).expect("it fits");
            if cursor == 0 {
                break;
            }
        }
        assert_eq!(seen, [(0, 0), (7, 0), (0, 1), (7, 1), (0, 2), (7, 2)]);
        assert_eq!(join_cursor(u64::MAX, 0, 3), None);
    }
}
