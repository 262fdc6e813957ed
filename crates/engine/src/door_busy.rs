//! What a door answers while a slow script holds the lock: `BUSY`, or the end of that script. Nothing here
//! touches the data.

use crate::cmd_function::write_engines;
use crate::cmd_script::{UNKILLABLE, busy};
use crate::ctx::is;
use crate::error::ReplyError;
use crate::lua::watch::{Kill, Watch};
use crate::out::Out;
use crate::resp::{self, Argv, Bounds, Parsed};

/// Answers every whole call in `input`. False when the connection must end.
pub(crate) fn answer(
    watch: &Watch,
    bounds: Bounds,
    resp3: bool,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> bool {
    let mut out = Out::new(resp3);
    std::mem::swap(&mut out.buf, output);
    let mut used = 0;
    let mut space = Vec::new();
    let mut open = true;
    while open && used < input.len() {
        let mut argv = Argv::new();
        match resp::parse(&input[used..], bounds, &mut space, &mut argv) {
            Parsed::Call(len) => {
                if !argv.is_empty()
                    && let Err(error) = reply(watch, &argv, &mut out)
                {
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

fn reply(watch: &Watch, argv: &[&[u8]], out: &mut Out) -> Result<(), ReplyError> {
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
