//! The in-memory door: RESP over a byte stream whose other end is in this process. All calls that have arrived run under
//! one taking of the lock, and their replies leave in one write.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::sync::Notify;

use crate::client::Seat;
use crate::door_busy::{self, Absent};
use crate::resp::Bounds;
use crate::session::{self, After};
use crate::shared::{Hold, Shared};

const READ: usize = 16 * 1024;
/// A buffer that grew beyond this is given back once it is empty.
pub(crate) const KEEP: usize = 64 * 1024;

/// One end of an in-memory pipe whose other end the engine serves.
pub(crate) fn duplex(shared: &Hold) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    shared.door_on(tokio::runtime::Handle::current());
    let shared = shared.clone();
    tokio::spawn(async move {
        let _ = welcome(&shared, theirs).await;
    });
    ours
}

/// Seats a new connection and serves it until it ends. While a slow script holds the lock it has no seat
/// yet, but can end that script.
async fn welcome<S>(shared: &Shared, mut stream: S) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut input: Vec<u8> = Vec::with_capacity(READ);
    let (seat, wake) = loop {
        if let Some(seated) = shared.seat_stream() {
            break seated;
        }
        if read_some(&mut stream, &mut input).await? == 0 {
            return Ok(());
        }
        let mut output = Vec::new();
        let broken = shared.watch.busy()
            && !door_busy::answer_stranger(
                &shared.watch,
                shared.open_to_all(),
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

/// Serves one connection until it ends.
async fn serve<S>(
    shared: &Shared,
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
        let after = run_batch(shared, seat, &mut state, &mut input, &mut output);
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
    shared: &Shared,
    seat: Seat,
    state: &mut Absent,
    input: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> After {
    let Some(mut inner) = shared.lock_unless_busy() else {
        state.wanted = 0;
        let open = door_busy::answer(&shared.watch, Bounds::WIDE, state, input, output);
        return if open { After::Read } else { After::Close };
    };
    if session::run_calls(&mut inner, seat, state, input)
        && shared.settle(&mut inner, seat).is_err()
    {
        // Not on the disk, so not acknowledged: the client learns that the outcome is unknown.
        if let Some(client) = inner.core().clients.at(seat) {
            client.out.buf.clear();
            client.closing = true;
        }
    }
    session::take_replies(shared, &mut inner, seat, state, output)
}
