//! Values exactly as stored (seed 003): field names, their order, their types. Readers take any order and white
//! space; a rewrite goes through `document.rs`, which keeps what it does not know.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How far the room is. `meta` is the authority; the copy in `game` never says `over`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// People take players.
    Lobby,
    /// The game runs.
    Game,
    /// The podium.
    Over,
}

/// How far the current item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The reel is not shown yet.
    Idle,
    /// People vote.
    Vote,
    /// The vote is closed, the Master reveals.
    RevealWait,
    /// The round is over.
    RoundRecap,
}

/// `room:<code>:meta`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The room's code.
    pub code: String,
    /// Unix milliseconds.
    pub created_at: u64,
    /// Twelve hours later, exactly.
    pub expires_at: u64,
    /// How far the room is.
    pub phase: Phase,
    /// Counts the writes of this document.
    pub version: u64,
    /// `sha256:` and 64 hexadecimal digits.
    pub master_key_hash: String,
}

/// One of `room:<code>:senders`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The id.
    pub sender_id: String,
    /// As people know them.
    pub name: String,
    /// Whether it can be chosen.
    pub active: bool,
    /// How many reels they sent.
    pub reels_count: u64,
}

/// One of `room:<code>:players`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Player<'a> {
    /// The id.
    pub player_id: String,
    /// The sender it stands for; null for a manual player.
    pub sender_id: Option<String>,
    /// Whether it stands for a sender.
    pub is_sender_bound: bool,
    /// Whether it plays.
    pub active: bool,
    /// As people see it.
    pub name: String,
    /// A picture as a data URL, up to 200 000 characters: kept as the text it is.
    #[serde(borrow, default)]
    pub avatar_url: Option<&'a RawValue>,
}

/// `room:<code>:game`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Game {
    /// A copy of the phase that never says `over`.
    pub phase: Phase,
    /// Rounds in the order they are played.
    pub round_order: Vec<String>,
    /// Null in the lobby.
    pub current_round_id: Option<String>,
    /// Counts from 0; the number of items once the round is over.
    pub current_item_index: Option<usize>,
    /// How far the current item is.
    pub status: Status,
    /// The open or just closed vote.
    pub vote: Option<Ballot>,
    /// Counts the writes of this document.
    pub version: u64,
}

/// An open item and the players who are asked about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ballot {
    /// The round.
    pub round_id: String,
    /// The item.
    pub item_id: String,
    /// Frozen when the reel was opened.
    pub expected_player_ids: Vec<String>,
}

/// `room:<code>:round:<round_id>`; never rewritten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The id.
    pub round_id: String,
    /// Unix milliseconds.
    pub created_at: u64,
    /// In the order they are played.
    pub items: Vec<Item>,
}

/// One reel to guess.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The id, unique in its round.
    pub item_id: String,
    /// The thing that is shown.
    pub reel: Reel,
    /// The sender: a secret until the vote is closed.
    pub true_sender_ids: Vec<String>,
    /// How many may be chosen.
    pub k: usize,
}

/// A short video.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reel {
    /// The id.
    pub reel_id: String,
    /// The address of the video.
    pub url: String,
}

/// One value of `room:<code>:votes:<round_id>:<item_id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Sender ids.
    pub selections: Vec<String>,
    /// Unix milliseconds.
    pub ts: u64,
}

/// `wk:rooms:<code>:rules`: how the host wants the room played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// How long a vote is open, in milliseconds; without it, until everybody has voted.
    #[serde(default)]
    pub vote_ms: Option<u64>,
    /// Whether people without a seat may join as players, also while the game runs.
    #[serde(default)]
    pub latecomers: bool,
}
