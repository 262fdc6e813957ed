//! The demo: a small party that plays by itself in a room of its own, so that the first look at the dashboard
//! shows a game under way. Only with the demo world, by one server at a time, through the same verbs as phones.

use std::time::Duration;

use kernel::{Deadline, Lease};
use rand::RngExt as _;
use rooms::{Caller, Command, Proof, Rooms, RoundItem, Setup};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::gateway;
use crate::modules::State;

const PLAYERS: [&str; 6] = ["Red", "Blue", "Green", "Amber", "Violet", "Teal"];
const ITEMS: usize = 4;
const LEASE: Duration = Duration::from_mins(1);
const STEP: Duration = Duration::from_secs(5);

/// Begins to play, where there is a demo world.
pub(super) fn start(app: &State) {
    if app.demo() {
        let stop = app.stopping.child_token();
        app.tasks.spawn(run(app.clone(), stop));
    }
}

/// Plays one game after the other until the server stops, then takes its room away.
async fn run(app: State, stop: CancellationToken) {
    let rooms = gateway::of(&app).rooms.clone();
    let lease = Lease::new(app.shared_store(), app.clock.clone(), "rooms-demo", LEASE);
    while !stop.is_cancelled() {
        let by = Deadline::after(Duration::from_secs(2));
        if let Ok(Some(_)) = lease.take(by).await
            && let Some(bots) = Bots::gather(&app, &rooms, &lease).await
        {
            tokio::select! {
                () = stop.cancelled() => {}
                played = bots.play() => {
                    if let Err(error) = played {
                        tracing::debug!(%error, "the demo room ended early");
                    }
                }
            }
            let _ = rooms.close(&bots.code, &bots.master()).await;
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = app.clock.sleep(STEP) => {}
        }
    }
    let _ = lease.give_back(Deadline::after(Duration::from_secs(1))).await;
}

/// Six players and a Master without screens.
struct Bots<'a> {
    app: &'a State,
    rooms: &'a Rooms,
    lease: &'a Lease,
    code: String,
    key: String,
}

impl<'a> Bots<'a> {
    async fn gather(app: &'a State, rooms: &'a Rooms, lease: &'a Lease) -> Option<Bots<'a>> {
        let senders: Vec<_> = PLAYERS
            .iter()
            .enumerate()
            .map(|(n, name)| json!({ "sender_id": format!("s{n}"), "name": name, "reels_count": ITEMS }))
            .collect();
        let rounds: Vec<_> = (0..2)
            .map(|round| {
                let items: Vec<_> = (0..ITEMS)
                    .map(|n| {
                        let first = (round * ITEMS + n) % PLAYERS.len();
                        let mut truth = vec![format!("s{first}")];
                        if n == 0 {
                            truth.push(format!("s{}", (first + 3) % PLAYERS.len()));
                        }
                        let url = format!("https://example.org/reel/{round}-{n}");
                        let reel = json!({ "reel_id": format!("reel{round}{n}"), "url": url });
                        json!({ "item_id": format!("i{n}"), "reel": reel, "true_sender_ids": truth })
                    })
                    .collect();
                json!({ "round_id": format!("r{round}"), "items": items })
            })
            .collect();
        let setup =
            Setup::read(&json!({ "senders": senders, "rounds": rounds }).to_string()).ok()?;
        let made = rooms.create(&setup).await.ok()?;
        Some(Bots { app, rooms, lease, code: made.code, key: made.master_key })
    }

    fn master(&self) -> Caller<'_> {
        Caller { proof: Proof::Key(&self.key), ..Caller::default() }
    }

    /// A moment of thought; the lease is kept meanwhile.
    async fn pause(&self, least_ms: u64, most_ms: u64) {
        let wait = rand::rng().random_range(least_ms..=most_ms);
        let _ = self.lease.take(Deadline::after(Duration::from_secs(2))).await;
        self.app.clock.sleep(Duration::from_millis(wait)).await;
    }

    async fn as_master(&self, command: Command) -> rooms::Result<()> {
        self.pause(3_000, 5_000).await;
        self.rooms.act(&self.code, &self.master(), &command).await.map(drop)
    }

    async fn as_player(&self, player: usize, command: Command) -> rooms::Result<()> {
        self.pause(300, 1_500).await;
        let device = format!("demo-device-{player}");
        let caller = Caller { device: Some(&device), ..Caller::default() };
        self.rooms.act(&self.code, &caller, &command).await.map(drop)
    }

    async fn play(&self) -> rooms::Result<()> {
        for player in 0..PLAYERS.len() {
            let take = Command::TakePlayer { player_id: format!("p{player}") };
            self.as_player(player, take).await?;
        }
        self.as_master(Command::StartGame).await?;
        for round in 0..2 {
            for item in 0..ITEMS {
                let (round_id, item_id) = (format!("r{round}"), format!("i{item}"));
                let place = RoundItem { round_id, item_id };
                self.as_master(Command::ReelOpened(place.clone())).await?;
                self.vote(&place).await?;
                self.as_master(Command::EndItem(place)).await?;
            }
            self.as_master(Command::StartNextRound).await?;
        }
        self.pause(20_000, 30_000).await;
        Ok(())
    }

    /// Everybody guesses; now and then somebody sleeps and the Master closes the vote.
    async fn vote(&self, place: &RoundItem) -> rooms::Result<()> {
        let sleeper = rand::rng().random_range(0..PLAYERS.len() * 4);
        for player in (0..PLAYERS.len()).filter(|player| *player != sleeper) {
            let guess = rand::rng().random_range(0..PLAYERS.len());
            let selections = vec![format!("s{guess}")];
            let vote = Command::SubmitVote { place: place.clone(), player_id: None, selections };
            self.as_player(player, vote).await?;
        }
        if sleeper < PLAYERS.len() {
            let force = Command::ForceCloseVote { place: place.clone(), delay_ms: 3_000 };
            self.as_master(force).await?;
            self.app.clock.sleep(Duration::from_millis(3_500)).await;
        }
        Ok(())
    }
}
