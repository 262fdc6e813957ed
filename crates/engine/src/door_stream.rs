//! RESP over a byte stream: the session loop of the TCP door and of the in-memory pipe. All calls that have
//! arrived run under one taking of the lock, and their replies leave in one write.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};

use crate::client::Seat;
use crate::resp::{self, Argv, Bounds, Parsed};
use crate::shared::{Hold, Shared};

const READ: usize = 16 * 1024;
/// A buffer that grew beyond this is given back once it is empty.
const KEEP: usize = 64 * 1024;

/// One end of an in-memory pipe whose other end the engine serves.
pub(crate) fn duplex(shared: &Hold) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let shared = shared.clone();
    tokio::spawn(async move {
        let seat = shared.seat("in-process:0".into());
        let _ = serve(&shared, seat, theirs).await;
        shared.unseat(seat);
    });
    ours
}

/// What a batch left behind.
enum After {
    /// All whole calls ran.
    Read,
    /// A call blocks: nothing further runs before it ends.
    Blocked(Arc<tokio::sync::Notify>),
    Close,
}

/// Serves one connection until it ends.
pub(crate) async fn serve<S>(shared: &Shared, seat: Seat, stream: S) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut input: Vec<u8> = Vec::with_capacity(READ);
    let mut output: Vec<u8> = Vec::new();
    let wake = match shared.lock().core().clients.get(seat.id) {
        Some(client) => Arc::clone(&client.wake),
        None => return Ok(()),
    };
    loop {
        let after = run_batch(shared, seat, &mut input, &mut output);
        if !output.is_empty() {
            writer.write_all(&output).await?;
            output.clear();
            output.shrink_to(KEEP);
        }
        match after {
            After::Close => return writer.shutdown().await,
            After::Blocked(wake) => {
                tokio::select! {
                    () = wake.notified() => {}
                    more = read_some(&mut reader, &mut input) => if more? == 0 { return Ok(()) },
                }
            }
            After::Read => {
                tokio::select! {
                    more = read_some(&mut reader, &mut input) => if more? == 0 { return Ok(()) },
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
fn run_batch(shared: &Shared, seat: Seat, input: &mut Vec<u8>, output: &mut Vec<u8>) -> After {
    let mut inner = shared.lock();
    let mut used = 0;
    let mut broken = None;
    let mut space = Vec::new();
    loop {
        let core = inner.core();
        let Some(client) = core.clients.get(seat.id) else { return After::Close };
        if client.blocked.is_some() || client.closing || used == input.len() {
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
            }
            Parsed::More(_) => break,
            Parsed::Broken(why) => {
                broken = Some(why);
                break;
            }
        }
    }
    input.drain(..used);
    let written = shared.settle(&mut inner, seat);
    let Some(client) = inner.core().clients.get_mut(seat.id) else { return After::Close };
    if written.is_err() {
        // Not on the disk, so not acknowledged: the client learns that the outcome is unknown.
        client.out.buf.clear();
        return After::Close;
    }
    if let Some(why) = broken {
        client.out.error(&format!("ERR Protocol error: {why}"));
        client.closing = true;
    }
    std::mem::swap(output, &mut client.out.buf);
    if client.closing {
        After::Close
    } else if client.blocked.is_some() {
        After::Blocked(Arc::clone(&client.wake))
    } else {
        After::Read
    }
}
