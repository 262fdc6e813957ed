//! The outgoing side of a pilot's socket: the welcome, each state, answers, notices. Nothing is queued for a client that does not
//! read but one copy of what was begun: it gets the newest state when it is ready for one.

use std::sync::Arc;

use kernel::Refuses as _;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::pilot::{Pilot, welcome};
use super::socket::code;
use crate::app::App;
use crate::galaxy::frame::Frame;
use crate::galaxy::gateway::Gateway;
use crate::galaxy::notices::{Notice, What};
use crate::galaxy::state::State;
use crate::galaxy::viewers::{Turn, Viewer};
use crate::socket::{End, Outbox, OutboxWriter};

/// Notes that are written in one go.
const NOTICES: usize = 256;

/// The writing half.
pub(super) struct Outbound<'a> {
    pub(super) app: &'a App,
    pub(super) gateway: &'a Gateway,
    pub(super) outbox: &'a Outbox,
    pub(super) viewer: &'a Viewer,
    pub(super) writer: &'a mut OutboxWriter,
    pub(super) notices: broadcast::Receiver<Notice>,
    pub(super) frames: watch::Receiver<Option<Arc<Frame>>>,
    pub(super) pilot: &'a Pilot,
}

impl Outbound<'_> {
    /// Writes until the end.
    pub(super) async fn write(&mut self) -> End {
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
        match self.viewer.turn(Some(&frame), &*self.app.clock) {
            Turn::Send(state) => self.state(state).await,
            Turn::Later(_) | Turn::Wait => Ok(()),
        }
    }

    /// The next state, or whatever comes before there is one.
    async fn go_on(&mut self) -> Result<(), End> {
        let turn = {
            let newest = self.frames.borrow_and_update().clone();
            self.viewer.turn(newest.as_ref(), &*self.app.clock)
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
            // Answers, and a wake-up when another ship or view is asked for.
            batch = self.writer.next() => {
                let bytes = self.writer.write(batch?).await?;
                self.gateway.meters.sent.increment(bytes as u64);
                Ok(())
            }
            notice = self.notices.recv() => match notice {
                Ok(first) => self.notices(first).await,
                // Among what was missed may have been the end of the login.
                Err(RecvError::Lagged(_)) => self.still_in().await,
                Err(RecvError::Closed) => Err(End::gone()),
            },
            changed = self.frames.changed() => changed.map_err(|_| End::gone()),
            () = later => Ok(()),
        }
    }

    async fn state(&mut self, state: State) -> Result<(), End> {
        let socket = self.outbox.socket();
        let put = socket.put(&mut state.pieces()).await?;
        if put {
            self.gateway.meters.sent.increment(state.len() as u64);
        } else {
            // The answer to a ping is stuck. When it is out, this tick may be an old one.
            self.viewer.missed();
        }
        // Whoever reads slowly holds nothing that others share.
        drop(state);
        socket.flush().await
    }

    /// A notice and those that wait behind it.
    async fn notices(&mut self, first: Notice) -> Result<(), End> {
        let (mut texts, mut next, mut end) = (Vec::new(), Some(first), Ok(()));
        while let Some(notice) = next {
            if notice.to.is_none_or(|player| player == self.pilot.player.id) {
                match notice.what {
                    What::Say(text) => texts.push(text),
                    What::Switch(ship) => self.viewer.fly(ship),
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
            next = if texts.len() < NOTICES { self.notices.try_recv().ok() } else { None };
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

    async fn say<T: std::ops::Deref<Target = str>>(&self, texts: &[T]) -> Result<(), End> {
        if texts.is_empty() {
            return Ok(());
        }
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        self.gateway.meters.sent.increment(bytes as u64);
        self.outbox.socket().send(texts).await
    }
}
