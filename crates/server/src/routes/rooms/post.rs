//! The way to one socket: bounded in messages and bytes. Putting something in never waits, and touches little memory:
//! a broadcast does it thousands of times.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use axum::extract::ws::Utf8Bytes;
use parking_lot::Mutex;

use crate::outbox::End;

/// Room that an emptied box keeps.
const KEEP: usize = 16;

/// What goes to a socket's task.
pub(super) enum Parcel {
    Text(Utf8Bytes),
    /// The bus was lost for a while: look at everything again.
    Resync,
    Close(End),
}

/// Puts parcels in.
#[derive(Clone)]
pub(super) struct Post(Arc<Mutex<Letters>>);

/// Takes them out, for the socket's task.
pub(super) struct Letterbox {
    letters: Arc<Mutex<Letters>>,
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
    reader: Option<Waker>,
    most_parcels: usize,
    most_bytes: usize,
}

impl Post {
    pub(super) fn new(most_parcels: usize, most_bytes: usize) -> (Self, Letterbox) {
        let letters = Arc::new(Mutex::new(Letters {
            waiting: Vec::new(),
            bytes: 0,
            taken: (0, 0),
            overrun: false,
            reader: None,
            most_parcels: most_parcels.max(1),
            most_bytes,
        }));
        (Post(Arc::clone(&letters)), Letterbox { letters, spare: Vec::new() })
    }

    /// Puts a parcel in. Where it does not fit, the other end reads too slowly and the socket's task ends.
    pub(super) fn put(&self, parcel: Parcel) {
        let mut letters = self.0.lock();
        let size = if let Parcel::Text(text) = &parcel { text.len() } else { 0 };
        if letters.fits(size) {
            letters.bytes += size;
            letters.waiting.push(parcel);
        } else {
            letters.overrun = true;
        }
        let reader = letters.reader.take();
        drop(letters);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

impl Letters {
    fn fits(&self, size: usize) -> bool {
        let (parcels, bytes) = (self.waiting.len() + self.taken.0, self.bytes + self.taken.1);
        // One message always fits into an empty box, however large it is.
        parcels < self.most_parcels && (bytes == 0 || bytes + size <= self.most_bytes)
    }
}

impl Letterbox {
    /// All that waits, as soon as something does; what was taken before has left by now. None when something did
    /// not fit.
    pub(super) async fn next(&mut self) -> Option<Vec<Parcel>> {
        let Letterbox { letters, spare } = self;
        poll_fn(|context| {
            let mut letters = letters.lock();
            letters.taken = (0, 0);
            if letters.overrun {
                return Poll::Ready(None);
            }
            if letters.waiting.is_empty() {
                match &mut letters.reader {
                    Some(reader) => reader.clone_from(context.waker()),
                    None => letters.reader = Some(context.waker().clone()),
                }
                return Poll::Pending;
            }
            let all = std::mem::replace(&mut letters.waiting, std::mem::take(spare));
            letters.taken = (all.len(), std::mem::take(&mut letters.bytes));
            Poll::Ready(Some(all))
        })
        .await
    }

    /// An emptied box, to be used again.
    pub(super) fn give_back(&mut self, mut emptied: Vec<Parcel>) {
        emptied.clear();
        emptied.shrink_to(KEEP);
        self.spare = emptied;
    }

    /// Whatever is left when the socket ends.
    pub(super) fn last(&mut self) -> Vec<Parcel> {
        std::mem::take(&mut self.letters.lock().waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(size: usize) -> Parcel {
        Parcel::Text("x".repeat(size).into())
    }

    #[tokio::test]
    async fn what_waits_comes_at_once_and_a_full_box_is_told() {
        let (post, mut letters) = Post::new(3, 10);
        post.put(text(20));
        let all = letters.next().await.unwrap();
        assert_eq!(all.len(), 1, "one always fits");
        letters.give_back(all);
        post.put(text(1));
        assert!(letters.next().await.is_none(), "twenty bytes were on their way");
    }

    #[tokio::test]
    async fn what_was_taken_counts_until_it_is_asked_for_more() {
        let (post, mut letters) = Post::new(3, 10);
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
        let (post, mut letters) = Post::new(8, 100);
        let reading = tokio::spawn(async move { letters.next().await.map(|all| all.len()) });
        tokio::task::yield_now().await;
        post.put(text(1));
        assert_eq!(reading.await.unwrap(), Some(1));
    }
}
