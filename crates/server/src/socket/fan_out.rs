//! Broadcasts: one task writes what was queued for many sockets, without waking theirs.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Outbox;

/// Outboxes that are written before others may run.
const STRETCH: usize = 32;

/// Outboxes in which something was queued, in the order of its arrival: one that is written and gets more is behind all
/// others again.
#[derive(Default)]
pub(crate) struct FanOut(Mutex<Line>);

#[derive(Default)]
struct Line {
    next: VecDeque<Outbox>,
    /// A task writes.
    running: bool,
}

impl FanOut {
    /// Has them written, after those before.
    pub(crate) fn write(self: &Arc<Self>, outboxes: Vec<Outbox>) {
        let mut line = self.0.lock();
        line.next.extend(outboxes);
        if line.next.is_empty() || std::mem::replace(&mut line.running, true) {
            return;
        }
        drop(line);
        let this = Arc::clone(self);
        tokio::spawn(async move {
            while this.stretch() {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Writes some; false when there are none left.
    fn stretch(&self) -> bool {
        let mut line = self.0.lock();
        let some = line.next.len().min(STRETCH);
        let some: Vec<Outbox> = line.next.drain(..some).collect();
        drop(line);
        some.iter().for_each(Outbox::write_now);
        let mut line = self.0.lock();
        line.running = !line.next.is_empty();
        line.running
    }
}

#[cfg(test)]
mod tests {
    use tokio_tungstenite::tungstenite::Message;

    use super::*;
    use crate::socket::OutboxWriter;
    use crate::socket::outbox::tests::{outbox, waiting};
    use crate::socket::tests::{Client, hear};

    #[tokio::test]
    async fn whoever_was_served_is_behind_all_others_again() {
        let fan_out = Arc::new(FanOut::default());
        let mut all = Vec::new();
        for _ in 0..STRETCH + 2 {
            let (outbox, mut writer, client) = outbox(9, 100).await;
            assert!(futures_util::poll!(Box::pin(writer.next())).is_pending());
            all.push((outbox, writer, client));
        }
        let queue = |all: &[(Outbox, OutboxWriter, Client)], text: &str| -> Vec<Outbox> {
            let queued = all.iter().filter(|(outbox, ..)| outbox.queue(text.to_owned().into()));
            queued.map(|(outbox, ..)| outbox.clone()).collect()
        };
        fan_out.write(queue(&all, "first"));
        assert!(fan_out.stretch());
        fan_out.write(queue(&all, "second"));
        let len = fan_out.0.lock().next.len();
        assert_eq!(len, 2 + STRETCH, "the first ones once more, at the end");
        assert_eq!((waiting(&all[0].0), waiting(&all[STRETCH].0)), (1, 2));
        for (_, _, client) in &mut all {
            assert_eq!(hear(client).await, Message::text("first"));
            assert_eq!(hear(client).await, Message::text("second"));
        }
        while fan_out.0.lock().running {
            tokio::task::yield_now().await;
        }
    }
}
