//! What a command does to the connection it runs on. On a connection shared by many callers a blocking
//! command would stop everybody, and one that changes the connection's state would confuse everybody.

use kernel::Cmd;
use redis::Arg;

/// How a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Anywhere.
    Plain,
    /// May wait inside the server: a connection of its own.
    Blocking,
    /// Watches keys, until the next `EXEC`, `DISCARD` or `UNWATCH`.
    Watch,
    /// Ends watching.
    Unwatch,
    /// Changes the connection for good: in a session only, which is then closed after use.
    Stateful,
}

/// The arguments of a command, the name first.
pub(crate) fn words(cmd: &Cmd) -> impl Iterator<Item = &[u8]> + Clone {
    cmd.args_iter().map(|arg| match arg {
        Arg::Simple(bytes) => bytes,
        _ => b"0",
    })
}

fn is(word: &[u8], names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

/// Looks at the name, and at `BLOCK` of the two stream commands.
pub(crate) fn manner(cmd: &Cmd) -> Manner {
    let mut words = words(cmd);
    let Some(name) = words.next() else { return Manner::Plain };
    match name.first().map_or(0, u8::to_ascii_uppercase) {
        b'B' if is(name, &["BLPOP", "BRPOP", "BLMOVE", "BLMPOP", "BRPOPLPUSH"])
            || is(name, &["BZPOPMIN", "BZPOPMAX", "BZMPOP"]) =>
        {
            Manner::Blocking
        }
        b'X' if is(name, &["XREAD", "XREADGROUP"]) => {
            let mut options = words.take_while(|word| !is(word, &["STREAMS"]));
            if options.any(|word| is(word, &["BLOCK"])) { Manner::Blocking } else { Manner::Plain }
        }
        b'W' if is(name, &["WAIT", "WAITAOF"]) => Manner::Blocking,
        b'W' if is(name, &["WATCH"]) => Manner::Watch,
        b'U' if is(name, &["UNWATCH"]) => Manner::Unwatch,
        b'A' | b'H' | b'M' | b'P' | b'Q' | b'R' | b'S' | b'D' | b'E' | b'U'
            if is(
                name,
                &["AUTH", "HELLO", "MULTI", "EXEC", "DISCARD", "MONITOR", "QUIT", "RESET"],
            ) || is(
                name,
                &["SELECT", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE"],
            ) || is(
                name,
                &["PUNSUBSCRIBE", "SUNSUBSCRIBE", "READONLY", "READWRITE", "ASKING"],
            ) || is(name, &["SYNC", "PSYNC"]) =>
        {
            Manner::Stateful
        }
        b'C' if is(name, &["CLIENT"]) => {
            let reading = ["ID", "INFO", "LIST", "GETNAME", "KILL", "UNBLOCK"];
            if words.next().is_some_and(|word| is(word, &reading)) {
                Manner::Plain
            } else {
                Manner::Stateful
            }
        }
        _ => Manner::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Manner {
        let mut cmd = Cmd::new();
        for word in line.split(' ') {
            cmd.arg(word);
        }
        manner(&cmd)
    }

    #[test]
    fn commands_are_told_apart() {
        for plain in
            ["GET BLPOP", "xread COUNT 1 STREAMS BLOCK 0", "CLIENT ID", "SET a b", "EVAL x 0"]
        {
            assert_eq!(of(plain), Manner::Plain, "{plain}");
        }
        for blocking in ["blpop a 0", "XREADGROUP GROUP g c BLOCK 5 STREAMS s >", "WAIT 1 0"] {
            assert_eq!(of(blocking), Manner::Blocking, "{blocking}");
        }
        for stateful in ["SELECT 1", "MULTI", "client reply off", "SUBSCRIBE a", "exec"] {
            assert_eq!(of(stateful), Manner::Stateful, "{stateful}");
        }
        assert_eq!(of("WATCH a"), Manner::Watch);
        assert_eq!(of("UNWATCH"), Manner::Unwatch);
    }
}
