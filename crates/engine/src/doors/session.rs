//! A RESP session without its bytes' way in and out: runs the calls that have arrived, and hands over what the client is
//! owed. Replies stay with the client until everything changed so far is in the log.

use crate::commands::ctx::is;
use crate::core::client::Seat;
use crate::doors::busy::Absent;
use crate::doors::resp::{self, Argv, Bounds, Parsed};
use crate::exec::LockedEngine;
use crate::shared::SharedEngine;

/// Replies of this size leave before further calls of the same client run.
const REPLIES_MAX: usize = 1 << 20;

/// The next action of a door for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// All whole calls ran.
    Read,
    /// Calls are left: they run once the replies so far are sent.
    More,
    /// A call blocks: nothing further runs before it ends.
    Blocked,
    /// The connection ends once the replies are sent.
    Close,
}

/// Whether a call is a line of an HTTP request. A page in a browser can have one sent anywhere, with commands for a body.
pub(crate) fn is_http(argv: &[&[u8]]) -> bool {
    argv.first().is_some_and(|word| is(word, "post") || is(word, "host:"))
}

/// Runs the whole calls in `input`. True when something must be settled before replies leave.
pub(crate) fn run_calls(
    inner: &mut LockedEngine,
    seat: Seat,
    state: &mut Absent,
    input: &mut Vec<u8>,
) -> bool {
    state.catch_up(inner.core(), seat.id);
    state.more = false;
    state.input_max = inner.core().config.query_buffer_max;
    if input.len() > state.input_max {
        inner.core().turn_away(seat, "more arrived than client-query-buffer-limit allows");
        input.clear();
    }
    let mut used = 0;
    let mut broken = None;
    let mut space = Vec::new();
    loop {
        let core = inner.core();
        let Some(client) = core.clients.at(seat) else { return false };
        client.query_bytes = input.len() - used;
        if core.config.output_limits.over_hard(client) {
            client.out.buf = Vec::new();
            client.closing = true;
        }
        if client.blocked.is_some() || client.closing || used == input.len() {
            break;
        }
        if input.len() - used < state.wanted {
            break;
        }
        if client.out.buf.len() >= REPLIES_MAX {
            state.more = true;
            break;
        }
        let bounds = if client.authenticated {
            Bounds { bulk_max: core.config.proto_max_bulk_len, args_max: 1 << 20 }
        } else {
            Bounds::STRANGER
        };
        let mut argv = Argv::new();
        match resp::parse(&input[used..], bounds, &mut space, &mut argv) {
            Parsed::Call(_) if is_http(&argv) => {
                inner.core().turn_away(seat, "possible attack: POST or Host: came instead of RESP");
                used = input.len();
            }
            Parsed::Call(len) => {
                inner.run_seated(seat, &argv);
                used += len;
                state.wanted = 0;
            }
            Parsed::More(wanted) => {
                state.wanted = wanted;
                break;
            }
            Parsed::Broken(why) => {
                broken = Some(why);
                break;
            }
        }
    }
    input.drain(..used);
    let Some(client) = inner.core().clients.at(seat) else { return false };
    if let Some(why) = broken {
        client.out.error(&format!("ERR Protocol error: {why}"));
        client.closing = true;
    }
    // Changes that others made are theirs to log.
    used > 0 || !client.out.buf.is_empty()
}

/// Moves the replies that the client is owed to `output`, which is empty. Its changes are in the
/// log.
pub(crate) fn take_replies(
    shared: &SharedEngine,
    inner: &mut LockedEngine,
    seat: Seat,
    state: &mut Absent,
    output: &mut Vec<u8>,
) -> After {
    let Some(client) = inner.core().clients.at(seat) else { return After::Close };
    std::mem::swap(output, &mut client.out.buf);
    (state.resp3, state.in_multi) = (client.out.resp3, client.multi.is_some());
    state.trusted = client.authenticated || shared.open_to_all();
    if client.closing {
        After::Close
    } else if client.blocked.is_some() {
        After::Blocked
    } else if state.more {
        After::More
    } else {
        After::Read
    }
}
