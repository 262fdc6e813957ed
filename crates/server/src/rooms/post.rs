//! The way to one socket: bounded in messages and bytes. Putting something in never waits, and touches little memory:
//! a broadcast does it thousands of times. What is for many is carried to the system by one task, without waking theirs;
//! whatever cannot go at once is left to the socket's own task.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use axum::extract::ws::Utf8Bytes;
use parking_lot::Mutex;

use crate::outbox::End;
use crate::pipe::{Sent, Socket};

/// Room that an emptied box keeps.
const KEEP: usize = 16;
/// Boxes that are carried before others may run.
const STRETCH: usize = 32;

/// What goes to a socket's task.
pub(super) enum Parcel {
    Text(Utf8Bytes),
    /// The bus was lost for a while: look at everything again.
    Resync,
    Close(End),
}

/// Puts parcels in.
#[derive(Clone)]
pub(super) struct Post(Arc<Shared>);

struct Shared {
    socket: Socket,
    letters: Mutex<Letters>,
}

/// Takes them out, for the socket's task.
pub(super) struct Letterbox {
    shared: Arc<Shared>,
    /// Emptied, to be filled again.
    spare: Vec<Parcel>,
}

struct Letters {
    waiting: Vec<Parcel>,
    /// Bytes of texts that wait, and of those that were taken last: they may not have left yet.
    bytes: usize,
    taken: (usize, usize),
    /// Something did not fit.
    overrun: bool,
    /// The socket has a part of what was taken, and nobody waits for it yet.
    unsent: bool,
    /// The socket's task, while it has nothing to do but to wait.
    reader: Option<Waker>,
    most_parcels: usize,
    most_bytes: usize,
}

impl Post {
    pub(super) fn new(socket: Socket, most_parcels: usize, most_bytes: usize) -> (Self, Letterbox) {
        let letters = Mutex::new(Letters {
            waiting: Vec::new(),
            bytes: 0,
            taken: (0, 0),
            overrun: false,
            unsent: false,
            reader: None,
            most_parcels: most_parcels.max(1),
            most_bytes,
        });
        let shared = Arc::new(Shared { socket, letters });
        (Post(Arc::clone(&shared)), Letterbox { shared, spare: Vec::new() })
    }

    /// The socket itself.
    pub(super) fn socket(&self) -> &Socket {
        &self.0.socket
    }

    /// Puts a parcel in. Where it does not fit, the other end reads too slowly and the socket's task ends.
    pub(super) fn put(&self, parcel: Parcel) {
        let mut letters = self.0.letters.lock();
        letters.push(parcel);
        letters.leave_to_reader();
    }

    /// Puts a text in for somebody to carry; false when somebody will come already.
    pub(super) fn leave(&self, text: Utf8Bytes) -> bool {
        let mut letters = self.0.letters.lock();
        let first = letters.waiting.is_empty();
        letters.push(Parcel::Text(text));
        first
    }

    /// Hands the system what waits.
    fn carry(&self) {
        let mut letters = self.0.letters.lock();
        let Letters { waiting, overrun, unsent, reader, .. } = &*letters;
        // A task that is busy may have an answer to give, which comes first; then it looks here by itself.
        if reader.is_none() || (waiting.is_empty() && !overrun) {
            return;
        }
        let texts: Option<Vec<&str>> = waiting.iter().map(Parcel::text).collect();
        let sent = match (texts, overrun, unsent) {
            (Some(texts), false, false) => self.0.socket.try_send(&texts),
            _ => Sent::Nothing,
        };
        if sent != Sent::Nothing {
            letters.taken = (letters.waiting.len(), std::mem::take(&mut letters.bytes));
            letters.waiting.clear();
            letters.waiting.shrink_to(KEEP);
        }
        match sent {
            Sent::All => letters.taken = (0, 0),
            Sent::Part => {
                letters.unsent = true;
                letters.leave_to_reader();
            }
            Sent::Nothing => letters.leave_to_reader(),
        }
    }
}

/// The boxes of a room in which something was left, in the order of its arrival: whoever is served and gets more is
/// behind all others again.
#[derive(Default)]
pub(super) struct Round(Mutex<Boxes>);

#[derive(Default)]
struct Boxes {
    next: VecDeque<Post>,
    /// Somebody is on the way.
    under_way: bool,
}

impl Round {
    /// Has them carried, after those before.
    pub(super) fn carry(self: &Arc<Self>, posts: Vec<Post>) {
        let mut boxes = self.0.lock();
        boxes.next.extend(posts);
        if boxes.next.is_empty() || std::mem::replace(&mut boxes.under_way, true) {
            return;
        }
        drop(boxes);
        let round = Arc::clone(self);
        tokio::spawn(async move {
            while round.stretch() {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Carries some; false when there are none left.
    fn stretch(&self) -> bool {
        let mut boxes = self.0.lock();
        let some = boxes.next.len().min(STRETCH);
        let some: Vec<Post> = boxes.next.drain(..some).collect();
        drop(boxes);
        some.iter().for_each(Post::carry);
        let mut boxes = self.0.lock();
        boxes.under_way = !boxes.next.is_empty();
        boxes.under_way
    }
}

impl Parcel {
    fn text(&self) -> Option<&str> {
        if let Parcel::Text(text) = self { Some(text) } else { None }
    }
}

impl Letters {
    fn push(&mut self, parcel: Parcel) {
        let size = parcel.text().map_or(0, str::len);
        if self.fits(size) {
            self.bytes += size;
            self.waiting.push(parcel);
        } else {
            self.overrun = true;
        }
    }

    fn leave_to_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn fits(&self, size: usize) -> bool {
        let (parcels, bytes) = (self.waiting.len() + self.taken.0, self.bytes + self.taken.1);
        // One message always fits into an empty box, however large it is.
        parcels < self.most_parcels && (bytes == 0 || bytes + size <= self.most_bytes)
    }
}

impl Letterbox {
    /// All that waits, as soon as something does; what was taken before has left by now. Nothing at all when the
    /// socket has only to be flushed. None when something did not fit.
    pub(super) async fn next(&mut self) -> Option<Vec<Parcel>> {
        let Letterbox { shared, spare } = self;
        poll_fn(|context| {
            let mut letters = shared.letters.lock();
            let reader = letters.reader.take();
            if letters.overrun {
                return Poll::Ready(None);
            }
            if std::mem::take(&mut letters.unsent) {
                // It counts until the caller asks again.
                return Poll::Ready(Some(Vec::new()));
            }
            letters.taken = (0, 0);
            if letters.waiting.is_empty() {
                let known = reader.filter(|reader| reader.will_wake(context.waker()));
                letters.reader = known.or_else(|| Some(context.waker().clone()));
                return Poll::Pending;
            }
            let all = std::mem::replace(&mut letters.waiting, std::mem::take(spare));
            letters.taken = (all.len(), std::mem::take(&mut letters.bytes));
            Poll::Ready(Some(all))
        })
        .await
    }

    /// Has something else to do: what comes meanwhile waits until it is asked for.
    pub(super) fn hold(&self) {
        self.shared.letters.lock().reader = None;
    }

    /// An emptied box, to be used again.
    pub(super) fn give_back(&mut self, mut emptied: Vec<Parcel>) {
        emptied.clear();
        emptied.shrink_to(KEEP);
        self.spare = emptied;
    }

    /// Whatever is left when the socket ends.
    pub(super) fn last(&mut self) -> Vec<Parcel> {
        std::mem::take(&mut self.shared.letters.lock().waiting)
    }
}

#[cfg(test)]
mod tests {
    use tokio_tungstenite::tungstenite::Message;

    use super::*;
    use crate::pipe::tests::{Client, hear, pair};

    fn text(size: usize) -> Parcel {
        Parcel::Text("x".repeat(size).into())
    }

    async fn boxed(most_parcels: usize, most_bytes: usize) -> (Post, Letterbox, Client) {
        let (socket, client) = pair().await;
        let (post, letters) = Post::new(socket, most_parcels, most_bytes);
        (post, letters, client)
    }

    #[tokio::test]
    async fn what_waits_comes_at_once_and_a_full_box_is_told() {
        let (post, mut letters, _client) = boxed(3, 10).await;
        post.put(text(20));
        let all = letters.next().await.unwrap();
        assert_eq!(all.len(), 1, "one always fits");
        letters.give_back(all);
        post.put(text(1));
        assert!(letters.next().await.is_none(), "twenty bytes were on their way");
    }

    #[tokio::test]
    async fn what_was_taken_counts_until_it_is_asked_for_more() {
        let (post, mut letters, _client) = boxed(3, 10).await;
        for _ in 0..3 {
            post.put(text(3));
        }
        assert_eq!(letters.next().await.unwrap().len(), 3);
        // Asking for more says that those have left.
        let putting = async {
            tokio::task::yield_now().await;
            post.put(text(9));
        };
        let (got, ()) = tokio::join!(letters.next(), putting);
        assert_eq!(got.unwrap().len(), 1);
        for _ in 0..3 {
            post.put(Parcel::Resync);
        }
        assert!(letters.next().await.is_none(), "three more are too many beside the one taken");
    }

    #[tokio::test]
    async fn a_reader_is_woken() {
        let (post, mut letters, _client) = boxed(8, 100).await;
        let reading = tokio::spawn(async move { letters.next().await.map(|all| all.len()) });
        tokio::task::yield_now().await;
        post.put(text(1));
        assert_eq!(reading.await.unwrap(), Some(1));
    }

    #[tokio::test]
    async fn what_is_carried_arrives_in_order_and_nobody_is_woken() {
        let (post, mut letters, mut client) = boxed(100, 1000).await;
        let mut reading = Box::pin(letters.next());
        assert!(futures_util::poll!(&mut reading).is_pending());
        for round in ["a", "b"] {
            assert!(post.leave(format!("{round}1").into()));
            assert!(!post.leave(format!("{round}2").into()), "somebody will come");
            post.carry();
            for n in 1..=2 {
                assert_eq!(hear(&mut client).await.into_text().unwrap(), format!("{round}{n}"));
            }
        }
        assert!(futures_util::poll!(&mut reading).is_pending());
        post.carry();
        drop(reading);
        letters.hold();
        assert!(post.leave("after the answer".into()));
        post.carry();
        assert_eq!(letters.next().await.unwrap().len(), 1, "nobody went ahead of the task");
    }

    #[tokio::test]
    async fn whoever_was_served_is_behind_all_others_again() {
        let round = Arc::new(Round::default());
        let mut all = Vec::new();
        for _ in 0..STRETCH + 2 {
            let (post, mut letters, client) = boxed(9, 100).await;
            assert!(futures_util::poll!(Box::pin(letters.next())).is_pending());
            all.push((post, letters, client));
        }
        let leave = |all: &[(Post, Letterbox, Client)], text: &str| -> Vec<Post> {
            let left = all.iter().filter(|(post, ..)| post.leave(text.to_owned().into()));
            left.map(|(post, ..)| post.clone()).collect()
        };
        round.carry(leave(&all, "first"));
        assert!(round.stretch());
        round.carry(leave(&all, "second"));
        assert_eq!(round.0.lock().next.len(), 2 + STRETCH, "the first ones once more, at the end");
        let waiting = |at: usize| all[at].0.0.letters.lock().waiting.len();
        assert_eq!((waiting(0), waiting(STRETCH)), (1, 2));
        for (_, _, client) in &mut all {
            assert_eq!(hear(client).await, Message::text("first"));
            assert_eq!(hear(client).await, Message::text("second"));
        }
        while round.0.lock().under_way {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_cannot_be_carried_is_left_to_the_reader_in_its_order() {
        let (post, mut letters, mut client) = boxed(100, 20_000_000).await;
        let long = "long".repeat(2_000_000);
        assert!(futures_util::poll!(Box::pin(letters.next())).is_pending());
        assert!(post.leave(long.clone().into()));
        post.carry();
        // The system took a part: what comes now waits behind the rest.
        assert!(post.leave("second".into()));
        post.carry();
        post.put(Parcel::Resync);
        assert!(letters.next().await.unwrap().is_empty(), "first the rest");
        let (flushed, heard) = tokio::join!(post.socket().flush(), hear(&mut client));
        flushed.unwrap();
        assert_eq!(heard.into_text().unwrap().len(), long.len());
        let all = letters.next().await.unwrap();
        assert!(
            matches!(&all[..], [Parcel::Text(text), Parcel::Resync] if text.as_str() == "second")
        );
    }

    #[tokio::test]
    async fn a_rest_that_nobody_reads_fills_the_box() {
        let (post, mut letters, _client) = boxed(3, 9_000_000).await;
        assert!(futures_util::poll!(Box::pin(letters.next())).is_pending());
        assert!(post.leave("x".repeat(8_000_000).into()));
        post.carry();
        assert!(post.leave("y".repeat(2_000_000).into()));
        assert!(letters.next().await.is_none(), "eight millions are on their way");
    }
}
