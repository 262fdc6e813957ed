//! The in-memory door: RESP over a byte stream whose other end is in this process. All calls that have arrived run under
//! one taking of the lock, and their replies leave in one write.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::sync::Notify;

use crate::core::client::Seat;
use crate::doors::busy::{self, Absent};
use crate::doors::resp::Bounds;
use crate::doors::session::{self, After};
use crate::exec::LockedEngine;
use crate::shared::{Hold, SharedEngine};

const READ: usize = 16 * 1024;
/// A buffer that grew beyond this is given back once it is empty.
pub(crate) const KEEP: usize = 64 * 1024;

/// One end of an in-memory pipe whose other end the engine serves.
pub(crate) fn duplex(shared: &Hold, owner: bool) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    shared.door_on(tokio::runtime::Handle::current());
    let shared = shared.clone();
    tokio::spawn(async move {
        let _ = welcome(&shared, theirs, owner).await;
    });
    ours
}

/// Seats a new connection and serves it until it ends. While a slow script holds the lock it has no seat
/// yet, but can end that script.
async fn welcome<S>(shared: &SharedEngine, mut stream: S, owner: bool) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut input: Vec<u8> = Vec::with_capacity(READ);
    let (seat, wake) = loop {
        let seat = |inner: &mut LockedEngine| {
            let seat = SharedEngine::seat(inner, owner);
            Some((seat, inner.core().clients.at(seat)?.wake.notify()?))
        };
        if let Some(seated) = unless_busy(shared, seat).await {
            break seated.ok_or(io::ErrorKind::NotConnected)?;
        }
        if read_some(&mut stream, &mut input).await? == 0 {
            return Ok(());
        }
        let mut output = Vec::new();
        let broken = shared.watch.busy()
            && !busy::answer_stranger(
                &shared.watch,
                shared.open_to_all() || owner,
                &mut input,
                &mut output,
            );
        stream.write_all(&output).await?;
        if broken {
            return stream.shutdown().await;
        }
    };
    let served = serve(shared, seat, &wake, stream, input).await;
    shared.unseat(seat);
    served
}

/// Does `work` with the lock, and waits for it without holding a thread; nothing while a slow script has it.
async fn unless_busy<T>(
    shared: &SharedEngine,
    work: impl FnOnce(&mut LockedEngine) -> T,
) -> Option<T> {
    if let Some(mut inner) = shared.lock_soon() {
        return Some(work(&mut inner));
    }
    let line = shared.line.stand();
    loop {
        if let Some(mut inner) = shared.lock_soon() {
            return Some(work(&mut inner));
        }
        if shared.watch.busy() {
            return None;
        }
        line.called().await;
    }
}

/// Serves one connection until it ends.
async fn serve<S>(
    shared: &SharedEngine,
    seat: Seat,
    wake: &Arc<Notify>,
    mut stream: S,
    mut input: Vec<u8>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut output: Vec<u8> = Vec::new();
    let mut state = Absent::default();
    loop {
        let ran = |inner: &mut LockedEngine| {
            run_batch(shared, inner, seat, &mut state, &mut input, &mut output)
        };
        let after = match unless_busy(shared, ran).await {
            Some(after) => after,
            None => answer_busy(shared, &mut state, &mut input, &mut output),
        };
        if !output.is_empty() {
            stream.write_all(&output).await?;
            output.clear();
            output.shrink_to(KEEP);
        }
        match after {
            After::Close => return stream.shutdown().await,
            After::More => {}
            After::Read | After::Blocked => {
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
    shared: &SharedEngine,
    inner: &mut LockedEngine,
    seat: Seat,
    state: &mut Absent,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> After {
    if session::run_calls(inner, seat, state, input) && shared.settle(inner, seat).is_err() {
        // Not on the disk, so not acknowledged: the client learns that the outcome is unknown.
        if let Some(client) = inner.core().clients.at(seat) {
            client.out.buf.clear();
            client.closing = true;
        }
    }
    session::take_replies(shared, inner, seat, state, output)
}

/// Answers every whole call in `input` while a slow script has the lock.
fn answer_busy(
    shared: &SharedEngine,
    state: &mut Absent,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> After {
    state.wanted = 0;
    let open = busy::answer(&shared.watch, Bounds::WIDE, state, input, output);
    if open { After::Read } else { After::Close }
}
