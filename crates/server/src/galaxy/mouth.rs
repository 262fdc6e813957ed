//! What a pilot's socket is told: the welcome, each state, answers, notes. Nothing is queued for a client that does not
//! read but one copy of what was begun: it gets the newest state when it is ready for one.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::Utf8Bytes;
use kernel::Refuses as _;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};

use super::pilot::{Pilot, welcome};
use super::socket::code;
use crate::app::App;
use crate::galaxy::frame::Frame;
use crate::galaxy::gateway::Gateway;
use crate::galaxy::notes::{Note, What};
use crate::galaxy::seats::{Seat, Turn};
use crate::galaxy::state::State;
use crate::outbox::End;
use crate::pipe::Socket;

/// Notes that are written in one go.
const NOTES: usize = 256;

/// The writing half.
pub(super) struct Mouth<'a> {
    pub(super) app: &'a App,
    pub(super) gateway: &'a Gateway,
    pub(super) socket: &'a Socket,
    pub(super) seat: &'a Seat,
    pub(super) replies: mpsc::Receiver<Utf8Bytes>,
    pub(super) notes: broadcast::Receiver<Note>,
    pub(super) frames: watch::Receiver<Option<Arc<Frame>>>,
    /// Another ship or another view: the next state comes at once.
    pub(super) nudged: watch::Receiver<u64>,
    pub(super) pilot: &'a Pilot,
}

impl Mouth<'_> {
    /// Speaks until the end.
    pub(super) async fn speak(&mut self) -> End {
        if let Err(end) = self.greet().await {
            return end;
        }
        loop {
            if let Err(end) = self.go_on().await {
                return end;
            }
        }
    }

    /// `welcome`, then one `state` at once.
    async fn greet(&mut self) -> Result<(), End> {
        let failed = |_| End(1013, "the world cannot be read now; come again");
        let frame = self.gateway.frame(self.app).await.map_err(failed)?;
        let text = welcome(self.app, self.pilot, &frame.seen).to_string();
        self.say(&[text]).await?;
        match self.seat.turn(Some(&frame), &*self.app.clock) {
            Turn::Send(state) => self.state(state).await,
            Turn::Later(_) | Turn::Wait => Ok(()),
        }
    }

    /// The next state, or whatever comes before there is one.
    async fn go_on(&mut self) -> Result<(), End> {
        let turn = {
            let newest = self.frames.borrow_and_update().clone();
            self.seat.turn(newest.as_ref(), &*self.app.clock)
        };
        let wait = match turn {
            Turn::Send(state) => return self.state(state).await,
            Turn::Later(wait) => Some(wait),
            Turn::Wait => None,
        };
        let later = async {
            match wait {
                Some(wait) => self.app.clock.sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            reply = self.replies.recv() => match reply {
                Some(first) => self.replies(first).await,
                None => Err(End::gone()),
            },
            note = self.notes.recv() => match note {
                Ok(first) => self.notes(first).await,
                // Among what was missed may have been the end of the login.
                Err(RecvError::Lagged(_)) => self.still_in().await,
                Err(RecvError::Closed) => Err(End::gone()),
            },
            changed = self.nudged.changed() => changed.map_err(|_| End::gone()),
            changed = self.frames.changed() => changed.map_err(|_| End::gone()),
            () = later => Ok(()),
        }
    }

    async fn state(&mut self, state: State) -> Result<(), End> {
        let put = self.socket.put(&mut state.pieces()).await.map_err(|_| End::gone())?;
        if put {
            self.gateway.meters.sent.increment(state.len() as u64);
        } else {
            // The answer to a ping is stuck. When it is out, this tick may be an old one.
            self.seat.missed();
        }
        // Whoever reads slowly holds nothing that others share.
        drop(state);
        self.socket.flush().await.map_err(|_| End::gone())
    }

    /// A note and those that wait behind it.
    async fn notes(&mut self, first: Note) -> Result<(), End> {
        let (mut texts, mut next, mut end) = (Vec::new(), Some(first), Ok(()));
        while let Some(note) = next {
            if note.to.is_none_or(|player| player == self.pilot.player.id) {
                match note.what {
                    What::Say(text) => texts.push(text),
                    What::Switch(ship) => self.seat.fly(ship),
                    What::Close => {
                        end = Err(End(code::POLICY, "the account was deleted"));
                        break;
                    }
                    What::LoginEnded => {
                        end = self.still_in().await;
                        if end.is_err() {
                            break;
                        }
                    }
                }
            }
            next = if texts.len() < NOTES { self.notes.try_recv().ok() } else { None };
        }
        self.say(&texts).await?;
        end
    }

    /// Whether the login that opened this socket has not ended. A database that does not say ends it too: whoever is
    /// still logged in comes again.
    async fn still_in(&self) -> Result<(), End> {
        let later = End(1013, "the accounts do not answer; come again");
        let Ok(fleets) = self.gateway.fleets(self.app).await else { return Err(later) };
        match fleets.accounts().standing(&self.pilot.claims, &self.pilot.token).await {
            Ok(_) => Ok(()),
            Err(error) if error.def().is_some() => {
                Err(End(code::AUTH, "this login has ended; log in again"))
            }
            Err(_) => Err(later),
        }
    }

    /// A text and those that wait behind it.
    async fn replies(&mut self, first: Utf8Bytes) -> Result<(), End> {
        let mut texts = vec![first];
        while let Ok(text) = self.replies.try_recv() {
            texts.push(text);
        }
        self.say(&texts).await
    }

    /// What was answered to the last messages is still said.
    pub(super) async fn last_words(&mut self) {
        if let Ok(first) = self.replies.try_recv() {
            let _ = tokio::time::timeout(Duration::from_secs(1), self.replies(first)).await;
        }
    }

    async fn say<T: std::ops::Deref<Target = str>>(&self, texts: &[T]) -> Result<(), End> {
        if texts.is_empty() {
            return Ok(());
        }
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        self.gateway.meters.sent.increment(bytes as u64);
        self.socket.send(texts).await.map_err(|_| End::gone())
    }
}
