//! One reader of all event streams for all sockets. It runs only while somebody listens; each event is
//! written as text once and shared. A listener that falls behind the ring loses its place and is told so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kernel::events::{Envelope, Feed, Filter, Record, Seq};
use kernel::{EventReader, Store};
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use crate::socket::Utf8Bytes;

/// Records that may wait in the ring for the slowest listener.
const RING: usize = 8192;
/// How long a read waits for news before it looks whether anybody still listens.
const WAIT: Duration = Duration::from_secs(1);
/// How long it rests after the store failed.
const REST: Duration = Duration::from_millis(250);

/// A message to listeners.
#[derive(Debug, Clone)]
pub struct News {
    /// The stream it stands in.
    pub stream: String,
    /// The event; `None` for a gap.
    pub event: Option<Envelope>,
    /// As `/ws/events` sends it.
    pub text: Utf8Bytes,
    /// Stands in no stream: only for those who ask for its type by name.
    pub passing: bool,
}

impl News {
    pub(crate) fn of(record: Record) -> News {
        let text = serde_json::to_string(&record).expect("a record is plain data").into();
        match record {
            Record::Event(told) => {
                News { stream: told.stream, event: Some(told.envelope), text, passing: false }
            }
            Record::Gap(gap) => News { stream: gap.stream, event: None, text, passing: false },
        }
    }
}

impl News {
    /// Something told in passing, such as progress: it cannot be resumed.
    pub fn passing(stream: String, event: Envelope) -> News {
        let told = kernel::events::StreamEvent { envelope: event, stream };
        let text = serde_json::to_string(&told).expect("an envelope is plain data").into();
        News { stream: told.stream, event: Some(told.envelope), text, passing: true }
    }
}

/// The last id of each stream.
pub type Places = BTreeMap<String, Seq>;

/// Feeds all sockets from one reader.
pub struct Hub {
    store: Arc<dyn Store>,
    feeds: Vec<Feed>,
    stopping: CancellationToken,
    ring: broadcast::Sender<Arc<News>>,
    /// `None` while nothing is read.
    places: watch::Sender<Option<Arc<Places>>>,
    running: Mutex<bool>,
    /// How many listeners want moves, and whether they are heard.
    moves: watch::Sender<(usize, bool)>,
}

/// Wants moves as long as it lives: their channel is read only while somebody does.
pub(crate) struct WantsMoves(Arc<Hub>);

impl Drop for WantsMoves {
    fn drop(&mut self) {
        // The last one turns them off.
        self.0.moves.send_modify(|(count, heard)| {
            *count -= 1;
            *heard &= *count > 0;
        });
    }
}

impl Hub {
    /// Wants moves from now on. Returns when they are heard, or after the time.
    pub(crate) async fn want_moves(self: &Arc<Self>, within: Duration) -> WantsMoves {
        self.moves.send_modify(|(count, _)| *count += 1);
        let wants = WantsMoves(Arc::clone(self));
        let mut moves = self.moves.subscribe();
        let _ = tokio::time::timeout(within, moves.wait_for(|(_, heard)| *heard)).await;
        wants
    }

    /// Returns when somebody wants moves.
    pub(crate) async fn moves_wanted(&self) {
        let _ = self.moves.subscribe().wait_for(|(count, _)| *count > 0).await;
    }

    /// Moves are heard from now on. Returns when nobody wants them any more.
    pub(crate) async fn hears_moves(&self) {
        self.moves.send_modify(|(count, heard)| *heard = *count > 0);
        let _ = self.moves.subscribe().wait_for(|(_, heard)| !*heard).await;
    }

    /// Moves are not heard for now.
    pub(crate) fn lost_moves(&self) {
        self.moves.send_modify(|(_, heard)| *heard = false);
    }

    /// For these streams. Reads nothing until somebody listens.
    pub fn new(store: Arc<dyn Store>, feeds: Vec<Feed>, stopping: CancellationToken) -> Arc<Self> {
        let ring = broadcast::channel(RING).0;
        let places = watch::channel(None).0;
        let (running, moves) = (Mutex::new(false), watch::channel((0, false)).0);
        Arc::new(Hub { store, feeds, stopping, ring, places, running, moves })
    }

    /// A reader of one's own over the same streams, to catch up with.
    pub fn reader(&self, filter: Filter, after: Places) -> EventReader {
        EventReader::new(Arc::clone(&self.store), self.feeds.clone(), filter, after)
    }

    /// Tells all listeners something that stands in no stream.
    pub fn announce(&self, news: News) {
        // Nobody listening is no error.
        let _ = self.ring.send(Arc::new(news));
    }

    /// How many listen.
    pub fn listeners(&self) -> usize {
        self.ring.receiver_count()
    }

    /// Listens from now on. Gives the places at which every stream stood then; what comes after them is in
    /// the receiver. `None` when the store does not say within the time.
    pub async fn listen(
        self: &Arc<Self>,
        within: Duration,
    ) -> Option<(broadcast::Receiver<Arc<News>>, Arc<Places>)> {
        let receiver = self.ring.subscribe();
        let mut places = self.places.subscribe();
        self.start();
        let known = tokio::time::timeout(within, places.wait_for(Option::is_some)).await;
        let known = known.ok()?.ok()?.clone()?;
        Some((receiver, known))
    }

    fn start(self: &Arc<Self>) {
        let mut running = self.running.lock();
        if *running {
            return;
        }
        *running = true;
        let this = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = this.read() => {}
                () = this.stopping.cancelled() => {}
            }
        });
    }

    async fn read(&self) {
        let mut reader = self.reader(Filter::default(), Places::new());
        let mut wait = Duration::ZERO;
        loop {
            match reader.next(wait).await {
                Ok(records) => {
                    metrics::counter!("worldkeep_events_total").increment(records.len() as u64);
                    for record in records {
                        // Nobody listening is no error: it is checked below.
                        let _ = self.ring.send(Arc::new(News::of(record)));
                    }
                    self.places.send_replace(Some(Arc::new(reader.places())));
                    wait = WAIT;
                }
                Err(fault) => {
                    tracing::debug!(%fault, "reading events");
                    tokio::time::sleep(REST).await;
                }
            }
            let mut running = self.running.lock();
            if self.ring.receiver_count() == 0 {
                // Under the lock: whoever comes now starts a new reader, from then on.
                self.places.send_replace(None);
                *running = false;
                return;
            }
        }
    }
}
