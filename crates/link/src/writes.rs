//! Whether a server takes writes. A Redis whose disk fails (`MISCONF`), whose memory is full (`OOM`) or that lacks replicas
//! (`NOREPLICAS`) still answers, and refuses every write. Each reply is looked at for these codes. While one holds, a script
//! that writes nothing, but counts as a write, asks twice a second whether it is over.

use std::time::Duration;

use kernel::{Deadline, Value};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::multiplexer::Multiplexer;
use crate::remote::{eval, sentence};
use crate::reply;

const AGAIN: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(2);
/// A script with a first line of this kind and no flags may write: a server that takes no writes refuses it at its start.
const MAY_WRITE: &str = "#!lua\nreturn 1";

/// Why writes are refused, as far as the replies of one connection told.
#[derive(Default)]
pub(crate) struct Writes {
    refused: Mutex<Option<String>>,
    changed: Notify,
}

impl Writes {
    /// Why every write is refused; `None` while the server takes them.
    pub(crate) fn refused(&self) -> Option<String> {
        self.refused.lock().clone()
    }

    /// Looks at replies.
    pub(crate) fn look(&self, values: &[Value]) {
        let Some(Value::ServerError(error)) = values.iter().find(|value| refuses(value)) else {
            return;
        };
        let why = sentence(error);
        let mut refused = self.refused.lock();
        if refused.is_none() {
            tracing::error!(why, "the store refuses every write");
            *refused = Some(why);
            self.changed.notify_one();
        }
    }

    fn taken_again(&self) {
        if self.refused.lock().take().is_some() {
            tracing::info!("the store takes writes again");
        }
    }
}

fn refuses(value: &Value) -> bool {
    matches!(reply::code(value), Some("MISCONF" | "OOM" | "NOREPLICAS"))
}

/// Asks a server that refuses writes until it takes them. Never ends.
pub(crate) async fn watch(multiplexer: &Multiplexer) {
    loop {
        multiplexer.writes().changed.notified().await;
        while multiplexer.writes().refused().is_some() {
            sleep(AGAIN).await;
            let ask = eval("EVAL", MAY_WRITE, &[], &[]).into();
            let answer = multiplexer.ask(ask, 1, Deadline::after(PATIENCE)).await;
            // A server that knows no such scripts cannot be asked: the next refusal tells again.
            if answer.is_ok_and(|values| !values.iter().any(refuses)) {
                multiplexer.writes().taken_again();
            }
        }
    }
}
