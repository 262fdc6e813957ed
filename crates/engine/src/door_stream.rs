//! RESP over a byte stream: the session loop of the TCP door and of the in-memory pipe. All calls that have
//! arrived run under one taking of the lock, and their replies leave in one write. Replies stay with the client until
//! everything changed so far is in the log; when many are connected, one of them writes it for all that are ready.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};

use crate::client::{Client, Seat};
use crate::door_busy::{self, Absent};
use crate::exec::Inner;
use crate::resp::{self, Argv, Bounds, Parsed};
use crate::shared::{Hold, NoSeat, Shared};

const READ: usize = 16 * 1024;
/// A buffer that grew beyond this is given back once it is empty.
const KEEP: usize = 64 * 1024;

/// One end of an in-memory pipe whose other end the engine serves.
pub(crate) fn duplex(shared: &Hold) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    shared.door_on(tokio::runtime::Handle::current());
    let shared = shared.clone();
    tokio::spawn(async move {
        let _ = welcome(&shared, None, theirs).await;
    });
    ours
}

/// Where a connection comes from.
pub(crate) struct Socket {
    pub(crate) addr: String,
    pub(crate) laddr: String,
    pub(crate) fd: i64,
}

/// What a batch left behind.
enum After {
    /// All whole calls ran.
    Read,
    /// Replies wait for the log.
    Log,
    /// A call blocks: nothing further runs before it ends.
    Blocked(Arc<tokio::sync::Notify>),
    Close,
}

/// Seats a new connection and serves it until it ends. While a slow script holds the lock it has no seat
/// yet, but can end that script.
pub(crate) async fn welcome<S>(
    shared: &Shared,
    socket: Option<&Socket>,
    mut stream: S,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut input: Vec<u8> = Vec::with_capacity(READ);
    let seat = loop {
        match shared.seat_stream(socket) {
            Ok(seat) => break seat,
            Err(NoSeat::TooMany) => {
                return stream.write_all(b"-ERR max number of clients reached\r\n").await;
            }
            Err(NoSeat::Busy) => {}
        }
        if read_some(&mut stream, &mut input).await? == 0 {
            return Ok(());
        }
        let mut output = Vec::new();
        let mut stranger = Absent { trusted: shared.open_to_all(), ..Absent::default() };
        let broken = shared.watch.busy()
            && !door_busy::answer(
                &shared.watch,
                Bounds::STRANGER,
                &mut stranger,
                &mut input,
                &mut output,
            );
        stream.write_all(&output).await?;
        if broken {
            return stream.shutdown().await;
        }
    };
    let served = serve(shared, seat, stream, input).await;
    shared.unseat(seat);
    served
}

/// Serves one connection until it ends.
async fn serve<S>(shared: &Shared, seat: Seat, mut stream: S, mut input: Vec<u8>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut output: Vec<u8> = Vec::new();
    let mut state = Absent::default();
    let wake = match shared.lock().core().clients.get(seat.id) {
        Some(client) => Arc::clone(&client.wake),
        None => return Ok(()),
    };
    loop {
        let mut after = run_batch(shared, seat, &mut state, &mut input, &mut output);
        if matches!(after, After::Log) {
            // Connections that are ready too run their calls first: one write of the log for all of them.
            tokio::task::yield_now().await;
            after = logged(shared, seat, &mut state, &mut output).await;
        }
        if !output.is_empty() {
            stream.write_all(&output).await?;
            output.clear();
            output.shrink_to(KEEP);
        }
        match after {
            After::Close => return stream.shutdown().await,
            After::Blocked(wake) => {
                tokio::select! {
                    () = wake.notified() => {}
                    more = read_some(&mut stream, &mut input) => if more? == 0 { return Ok(()) },
                }
            }
            After::Read | After::Log => {
                tokio::select! {
                    more = read_some(&mut stream, &mut input) => if more? == 0 { return Ok(()) },
                    () = wake.notified() => {}
                }
            }
        }
    }
}

async fn read_some(
    reader: &mut (impl AsyncRead + Unpin),
    input: &mut Vec<u8>,
) -> io::Result<usize> {
    if input.is_empty() {
        input.shrink_to(KEEP);
    }
    input.reserve(READ);
    reader.read_buf(input).await
}

/// Runs every whole call in `input` and moves what the client is owed to `output`.
fn run_batch(
    shared: &Shared,
    seat: Seat,
    state: &mut Absent,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> After {
    let Some(mut inner) = shared.lock_unless_busy() else {
        let bounds = Bounds { bulk_max: 512 << 20, args_max: 1 << 20 };
        state.wanted = 0;
        let open = door_busy::answer(&shared.watch, bounds, state, input, output);
        return if open { After::Read } else { After::Close };
    };
    state.catch_up(inner.core(), seat.id);
    let mut used = 0;
    let mut broken = None;
    let mut space = Vec::new();
    loop {
        let core = inner.core();
        let Some(client) = core.clients.at(seat) else { return After::Close };
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
        let bounds = if client.authenticated {
            Bounds { bulk_max: core.config.proto_max_bulk_len, args_max: 1 << 20 }
        } else {
            Bounds::STRANGER
        };
        let mut argv = Argv::new();
        match resp::parse(&input[used..], bounds, &mut space, &mut argv) {
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
    let Some(client) = inner.core().clients.at(seat) else { return After::Close };
    if let Some(why) = broken {
        client.out.error(&format!("ERR Protocol error: {why}"));
        client.closing = true;
    }
    if used == 0 && client.out.buf.is_empty() {
        // What others changed is theirs to log.
        return hand_over(shared, client, state, output);
    }
    if inner.gathers_log() {
        if let Some(client) = inner.core().clients.at(seat) {
            client.awaits_log = true;
        }
        return After::Log;
    }
    settle(shared, &mut inner, seat, state, output)
}

/// Writes the log unless another connection did, and takes the replies.
async fn logged(shared: &Shared, seat: Seat, state: &mut Absent, output: &mut Vec<u8>) -> After {
    loop {
        // While a slow script runs this thread may be needed to end it.
        if let Some(mut inner) = shared.lock_unless_busy() {
            return settle(shared, &mut inner, seat, state, output);
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
}

/// What changed goes to the log, then the replies to `output`.
fn settle(
    shared: &Shared,
    inner: &mut Inner,
    seat: Seat,
    state: &mut Absent,
    output: &mut Vec<u8>,
) -> After {
    let written = shared.settle(inner, seat);
    let Some(client) = inner.core().clients.at(seat) else { return After::Close };
    client.awaits_log = false;
    if written.is_err() {
        // Not on the disk, so not acknowledged: the client learns that the outcome is unknown.
        client.out.buf.clear();
        return After::Close;
    }
    hand_over(shared, client, state, output)
}

/// Takes the replies of a client.
fn hand_over(
    shared: &Shared,
    client: &mut Client,
    state: &mut Absent,
    output: &mut Vec<u8>,
) -> After {
    std::mem::swap(output, &mut client.out.buf);
    (state.resp3, state.in_multi) = (client.out.resp3, client.multi.is_some());
    state.trusted = client.authenticated || shared.open_to_all();
    if client.closing {
        After::Close
    } else if client.blocked.is_some() {
        After::Blocked(Arc::clone(&client.wake))
    } else {
        After::Read
    }
}
