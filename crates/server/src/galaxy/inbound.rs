//! Messages of a pilot's socket: `auth` first, then orders for the own ship. Inputs are clamped by the engine; what is
//! malformed is answered, and three of it within ten seconds end the socket. Silence of a minute ends it too.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use galaxy::{Order, REFRESH_BEFORE_S};
use serde_json::json;

use super::messages::{ClientMessage, error};
use super::pilot::{Pilot, rename, switch};
use super::socket::{TOO_SLOW, code};
use crate::app::App;
use crate::galaxy::accounts::account;
use crate::galaxy::errors;
use crate::galaxy::frame::SHIPS_MOST;
use crate::galaxy::gateway::Gateway;
use crate::galaxy::orders::Asker;
use crate::galaxy::viewers::Viewer;
use crate::limits::{Malformed, MessageRate, Taken};
use crate::reply::{self, Refusal};
use crate::socket::{End, Incoming, Outbox, Utf8Bytes};

/// Silence that ends a socket.
const IDLE: Duration = Duration::from_mins(1);
/// Orders of one socket that may wait for the engine.
const ORDERS: usize = 128;
/// How long to wait before another try to renew a token, and how often.
const RENEW_AGAIN_MS: u64 = 5 * 60 * 1_000;
const RENEW_TRIES: u32 = 3;

/// The reading half.
pub(super) struct Inbound<'a> {
    app: &'a Arc<App>,
    gateway: &'a Arc<Gateway>,
    pilot: &'a Pilot,
    viewer: &'a Viewer,
    outbox: Outbox,
    rate: MessageRate,
    malformed: Malformed,
    heard: Duration,
    token: String,
    ends_ms: u64,
    renew_at_ms: u64,
    tries: u32,
}

type Pending<'a> = FuturesUnordered<BoxFuture<'a, Option<Utf8Bytes>>>;

impl<'a> Inbound<'a> {
    pub(super) fn new(
        app: &'a Arc<App>,
        gateway: &'a Arc<Gateway>,
        pilot: &'a Pilot,
        viewer: &'a Viewer,
        outbox: Outbox,
    ) -> Self {
        let now = app.clock.monotonic();
        let per_second = app.settings.galaxy.messages_per_second;
        Inbound {
            app,
            gateway,
            pilot,
            viewer,
            outbox,
            rate: MessageRate::new(per_second, now),
            malformed: Malformed::default(),
            heard: now,
            token: pilot.token.clone(),
            ends_ms: pilot.ends_ms,
            renew_at_ms: pilot.ends_ms.saturating_sub(REFRESH_BEFORE_S * 1_000),
            tries: 0,
        }
    }

    /// Reads until the end.
    pub(super) async fn listen(&mut self) -> End {
        let outbox = self.outbox.clone();
        let mut pending: Pending<'a> = FuturesUnordered::new();
        let clock = Arc::clone(&self.app.clock);
        let mut idle = clock.sleep(IDLE);
        let mut renew = clock.sleep_until(self.renew_at_ms);
        loop {
            let outcome = tokio::select! {
                frame = outbox.socket().next() => {
                    self.heard = clock.monotonic();
                    match frame {
                        Ok(Incoming::Text(text)) => self.hear(&text, &mut pending),
                        Ok(Incoming::Binary) => self.bad("frames must be text"),
                        Ok(Incoming::Control) => Ok(()),
                        Err(end) => Err(end),
                    }
                }
                Some(reply) = pending.next() => reply.map_or(Ok(()), |text| self.say(text)),
                () = &mut idle => {
                    let silent = clock.monotonic().saturating_sub(self.heard);
                    idle = clock.sleep(IDLE.saturating_sub(silent));
                    if silent >= IDLE { Err(End(code::IDLE, "a minute of silence")) } else { Ok(()) }
                }
                () = &mut renew => {
                    let outcome = self.renew().await;
                    renew = clock.sleep_until(self.renew_at_ms);
                    outcome
                }
                () = self.app.stopping.cancelled() => Err(End::away()),
            };
            if let Err(end) = outcome {
                return end;
            }
        }
    }

    fn say(&self, text: Utf8Bytes) -> Result<(), End> {
        if self.outbox.put(text) { Ok(()) } else { Err(TOO_SLOW) }
    }

    /// Something that is no message of the protocol.
    fn bad(&mut self, why: &str) -> Result<(), End> {
        let enough = self.malformed.add(self.app.clock.monotonic());
        metrics::counter!("worldkeep_galaxy_malformed_total").increment(1);
        self.say(error(&Refusal::new(reply::BAD_REQUEST, why), None))?;
        if enough {
            return Err(End(code::POLICY, "too many malformed messages"));
        }
        Ok(())
    }

    fn hear(&mut self, text: &str, pending: &mut Pending<'a>) -> Result<(), End> {
        match self.rate.take(self.app.clock.monotonic()) {
            Taken::Yes => {}
            Taken::Dropped(wait) => {
                let mut refusal = Refusal::from(reply::TOO_MANY_REQUESTS);
                refusal.retry_after_s = Some(wait.as_secs() + 1);
                return self.say(error(&refusal, None));
            }
            Taken::Enough => return Err(End(code::POLICY, "too many messages")),
        }
        let message = match ClientMessage::read(text) {
            Ok(message) => message,
            Err(why) => return self.bad(&why),
        };
        let kind = message.word();
        match message {
            ClientMessage::Auth { .. } => self.bad("you are logged in already"),
            ClientMessage::Ping {} => {
                let pong = json!({ "type": "pong", "server_time": self.app.now_ms() });
                self.say(pong.to_string().into())
            }
            ClientMessage::View { rate, ships } => self.look(rate, ships),
            message => {
                if pending.len() >= ORDERS {
                    return self.say(error(&reply::TOO_MANY_REQUESTS.into(), Some(kind)));
                }
                pending.push(self.act(message, kind));
                Ok(())
            }
        }
    }

    fn look(&mut self, rate: Option<f64>, ships: Option<usize>) -> Result<(), End> {
        if rate.is_some_and(|rate| !(0.01..=100.0).contains(&rate)) {
            return self.bad("rate goes from 0.01 to 100 states per second");
        }
        self.viewer.change(|view| {
            if let Some(rate) = rate {
                view.gap = Duration::from_secs_f64(1.0 / rate);
            }
            if let Some(ships) = ships {
                view.ships = ships.min(SHIPS_MOST);
            }
        });
        self.outbox.refresh();
        Ok(())
    }

    /// An order or a wish; answers only when it is refused.
    fn act(&self, message: ClientMessage, kind: &'static str) -> BoxFuture<'a, Option<Utf8Bytes>> {
        let (app, gateway, viewer) = (self.app, self.gateway, self.viewer);
        let player = self.pilot.player.id;
        let outbox = self.outbox.clone();
        Box::pin(async move {
            let ship = viewer.view().ship;
            let asker = Asker { player: Some(player), ship };
            let outcome = match message {
                ClientMessage::SwitchShip { ship_id } => {
                    switch(app, gateway, player, ship_id).await.map(|()| {
                        viewer.fly(ship_id);
                        outbox.refresh();
                    })
                }
                ClientMessage::Rename { name } => rename(app, gateway, player, ship, &name).await,
                message => match (message.order(), ship) {
                    (_, None) => Err(Refusal::from(errors::NO_SHIP)),
                    (Ok(order @ Order::Control { .. }), _) => {
                        gateway.tell(app, &asker, order).await
                    }
                    (Ok(order), _) => gateway.order(app, &asker, order).await,
                    (Err(why), _) => Err(Refusal::new(reply::BAD_FIELD, why)),
                },
            };
            outcome.err().map(|refusal| error(&refusal, Some(kind)))
        })
    }

    /// A new token an hour before the old one ends; without one the socket ends with it.
    async fn renew(&mut self) -> Result<(), End> {
        let now = self.app.now_ms();
        if now >= self.ends_ms {
            return Err(End(code::AUTH, "the token has ended; log in again"));
        }
        let renewed = match self.gateway.fleets(self.app).await {
            Ok(fleets) => fleets.accounts().refresh(&self.token).await.map_err(account),
            Err(refusal) => Err(refusal),
        };
        match renewed {
            Ok((_, token)) => {
                let fleets = self.gateway.fleets(self.app).await;
                let claims = fleets.ok().and_then(|fleets| fleets.accounts().verify(&token).ok());
                self.ends_ms = claims.map_or(self.ends_ms, |claims| claims.exp * 1_000);
                self.renew_at_ms = self.ends_ms.saturating_sub(REFRESH_BEFORE_S * 1_000);
                self.tries = 0;
                let text =
                    json!({ "type": "token_refresh", "token": token, "token_ends": self.ends_ms });
                self.token = token;
                self.say(text.to_string().into())
            }
            Err(refusal) if refusal.def.status < 500 => {
                Err(End(code::AUTH, "the token is not good any more; log in again"))
            }
            Err(_) => {
                self.tries += 1;
                let again = now + RENEW_AGAIN_MS;
                self.renew_at_ms = if self.tries >= RENEW_TRIES { self.ends_ms } else { again };
                Ok(())
            }
        }
    }
}
