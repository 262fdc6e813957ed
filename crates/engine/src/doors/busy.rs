//! Answers of a door while a slow script holds the lock: `BUSY`, or the end of that script. Nothing
//! here touches the data.

use crate::commands::ctx::is;
use crate::commands::function::write_engines;
use crate::commands::script::{UNKILLABLE, busy};
use crate::core::Core;
use crate::core::client::Multi;
use crate::doors::out::Out;
use crate::doors::resp::{self, Argv, Bounds, Parsed};
use crate::doors::session;
use crate::error::ReplyError;
use crate::lua::watch::{Kill, Watch};

/// The facts that a door knows of its client without the lock, and the changes to make once the
/// client can be reached.
#[derive(Debug)]
pub(crate) struct Absent {
    /// `client-query-buffer-limit`, as it was when the client was last reached.
    pub(crate) input_max: usize,
    /// Bytes without which the call at the front of the input cannot be whole: not looked at before.
    pub(crate) wanted: usize,
    pub(crate) resp3: bool,
    /// Logged in, or nobody has to.
    pub(crate) trusted: bool,
    pub(crate) in_multi: bool,
    /// The change of the client's transaction that is still to be made.
    pub(crate) late: Late,
    /// Calls were answered `BUSY`: a transaction they belonged to must not run without them.
    pub(crate) missed: bool,
    /// Whole calls are left in the input.
    pub(crate) more: bool,
}

impl Default for Absent {
    fn default() -> Self {
        Absent {
            input_max: usize::MAX,
            wanted: 0,
            resp3: false,
            trusted: false,
            in_multi: false,
            late: Late::default(),
            missed: false,
            more: false,
        }
    }
}

/// Changes of a transaction that the client is told of before they can be made.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    #[default]
    Unchanged,
    Begun,
    Gone,
}

impl Absent {
    /// Makes the changes, now that the client can be reached.
    pub(crate) fn catch_up(&mut self, core: &mut Core, id: u64) {
        let (late, missed) = (std::mem::take(&mut self.late), std::mem::take(&mut self.missed));
        if late == Late::Unchanged && !missed {
            return;
        }
        let Some(seat) = core.clients.seat(id) else { return };
        let Some(mut client) = core.clients.try_take(seat) else { return };
        match late {
            Late::Unchanged => {}
            Late::Begun => client.multi = Some(Multi::default()),
            Late::Gone => {
                client.multi = None;
                core.unwatch(&mut client);
            }
        }
        if missed && let Some(multi) = &mut client.multi {
            multi.broken = true;
        }
        core.clients.put(seat, client);
    }

    /// The parts of a transaction, which need no data. False for any other command.
    fn transaction(&mut self, word: &[u8], busy: &ReplyError, out: &mut Out) -> bool {
        let open = self.in_multi;
        if is(word, "multi") && open {
            out.error("ERR MULTI calls can not be nested");
            self.missed = true;
        } else if is(word, "multi") {
            (self.in_multi, self.late, self.missed) = (true, Late::Begun, false);
            out.ok();
        } else if is(word, "exec") {
            let text = [b"EXECABORT Transaction discarded because of: ", &busy.0[..]].concat();
            out.error_bytes(&text);
            (self.in_multi, self.late, self.missed) = (false, Late::Gone, false);
        } else if is(word, "discard") && open {
            out.ok();
            (self.in_multi, self.late, self.missed) = (false, Late::Gone, false);
        } else {
            return false;
        }
        true
    }
}

/// Answers somebody who could not be seated yet. False when the connection must end.
pub(crate) fn answer_stranger(
    watch: &Watch,
    trusted: bool,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> bool {
    let mut stranger = Absent { trusted, ..Absent::default() };
    answer(watch, Bounds::STRANGER, &mut stranger, input, output)
}

/// Answers every whole call in `input`. False when the connection must end.
pub(crate) fn answer(
    watch: &Watch,
    bounds: Bounds,
    state: &mut Absent,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> bool {
    let mut out = Out::new(state.resp3);
    std::mem::swap(&mut out.buf, output);
    let mut used = 0;
    let mut space = Vec::new();
    let mut open = input.len() <= state.input_max;
    while open && used < input.len() {
        let mut argv = Argv::new();
        match resp::parse(&input[used..], bounds, &mut space, &mut argv) {
            Parsed::Call(_) if session::is_http(&argv) => open = false,
            Parsed::Call(len) => {
                if !argv.is_empty()
                    && let Err(error) = reply(watch, state, &argv, &mut out)
                {
                    state.missed = true;
                    out.error_bytes(&error.0);
                }
                used += len;
            }
            Parsed::More(_) => break,
            Parsed::Broken(why) => {
                out.error(&format!("ERR Protocol error: {why}"));
                open = false;
            }
        }
    }
    input.drain(..used);
    std::mem::swap(&mut out.buf, output);
    open
}

fn reply(
    watch: &Watch,
    state: &mut Absent,
    argv: &[&[u8]],
    out: &mut Out,
) -> Result<(), ReplyError> {
    if !state.trusted {
        return Err(ReplyError::fixed("NOAUTH Authentication required."));
    }
    if state.transaction(argv[0], &busy(watch.is_eval()), out) {
        return Ok(());
    }
    let sub = |word: &str| argv.len() == 2 && is(argv[1], word);
    let eval = is(argv[0], "script");
    if (eval || is(argv[0], "function")) && sub("kill") {
        return match watch.kill(eval) {
            // It may have ended this moment; then there is nothing left to kill either.
            Kill::Done => {
                out.ok();
                Ok(())
            }
            Kill::NothingRuns => {
                Err(ReplyError::fixed("NOTBUSY No scripts in execution right now."))
            }
            Kill::Wrote => Err(UNKILLABLE),
            Kill::OtherKind => Err(busy(!eval)),
        };
    }
    if is(argv[0], "function")
        && sub("stats")
        && !watch.is_eval()
        && let Some((running, elapsed)) = watch.running()
    {
        out.map(2);
        out.bulk(b"running_script");
        out.map(3);
        out.bulk(b"name");
        out.bulk(&running.name);
        out.bulk(b"command");
        out.array(running.command.len());
        for word in &running.command {
            out.bulk(word);
        }
        out.bulk(b"duration_ms");
        out.int(i64::try_from(elapsed).unwrap_or(i64::MAX));
        write_engines(out, running.counts);
        return Ok(());
    }
    Err(busy(watch.is_eval()))
}
