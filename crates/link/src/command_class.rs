//! The effect of a command on the connection it runs on. On a connection shared by many callers a
//! blocking command would stop everybody, and one that changes the connection's state would confuse
//! everybody.

use kernel::Cmd;
use redis::Arg;

/// How a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandClass {
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
pub(crate) fn command_class(cmd: &Cmd) -> CommandClass {
    let mut words = words(cmd);
    let Some(name) = words.next() else { return CommandClass::Plain };
    match name.first().map_or(0, u8::to_ascii_uppercase) {
        b'B' if is(name, &["BLPOP", "BRPOP", "BLMOVE", "BLMPOP", "BRPOPLPUSH"])
            || is(name, &["BZPOPMIN", "BZPOPMAX", "BZMPOP"]) =>
        {
            CommandClass::Blocking
        }
        b'X' if is(name, &["XREAD", "XREADGROUP"]) => {
            let mut options = words.take_while(|word| !is(word, &["STREAMS"]));
            if options.any(|word| is(word, &["BLOCK"])) {
                CommandClass::Blocking
            } else {
                CommandClass::Plain
            }
        }
        b'W' if is(name, &["WAIT", "WAITAOF"]) => CommandClass::Blocking,
        b'W' if is(name, &["WATCH"]) => CommandClass::Watch,
        b'U' if is(name, &["UNWATCH"]) => CommandClass::Unwatch,
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
            CommandClass::Stateful
        }
        b'C' if is(name, &["CLIENT"]) => {
            let reading = ["ID", "INFO", "LIST", "GETNAME", "KILL", "UNBLOCK"];
            if words.next().is_some_and(|word| is(word, &reading)) {
                CommandClass::Plain
            } else {
                CommandClass::Stateful
            }
        }
        _ => CommandClass::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> CommandClass {
        let mut cmd = Cmd::new();
        for word in line.split(' ') {
            cmd.arg(word);
        }
        command_class(&cmd)
    }

    #[test]
    fn commands_are_told_apart() {
        for plain in
            ["GET BLPOP", "xread COUNT 1 STREAMS BLOCK 0", "CLIENT ID", "SET a b", "EVAL x 0"]
        {
            assert_eq!(of(plain), CommandClass::Plain, "{plain}");
        }
        for blocking in ["blpop a 0", "XREADGROUP GROUP g c BLOCK 5 STREAMS s >", "WAIT 1 0"] {
            assert_eq!(of(blocking), CommandClass::Blocking, "{blocking}");
        }
        for stateful in ["SELECT 1", "MULTI", "client reply off", "SUBSCRIBE a", "exec"] {
            assert_eq!(of(stateful), CommandClass::Stateful, "{stateful}");
        }
        assert_eq!(of("WATCH a"), CommandClass::Watch);
        assert_eq!(of("UNWATCH"), CommandClass::Unwatch);
    }
}
