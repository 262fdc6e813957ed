//! A room as it was at one moment: the texts that one script call brought, and what they say. Decisions are
//! made from a [`Room`] and guarded by the texts of its [`RoomTexts`].

use std::collections::HashMap;

use kernel::{Fault, Value, reply};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Refused, Result, word};
use crate::keys::Keys;
use crate::model::{Ballot, Game, Item, Meta, Player, Round, Rules, Sender, Status, Vote};

/// The raw texts. What was not asked for is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct RoomTexts {
    pub(crate) meta: String,
    pub(crate) game: Option<String>,
    pub(crate) senders: Option<String>,
    pub(crate) players: Option<String>,
    pub(crate) claims: Vec<(String, String)>,
    pub(crate) scores: Vec<(String, String)>,
    round: Option<String>,
    next_round: Option<String>,
    votes: Vec<(String, String)>,
    delta: Vec<(String, String)>,
    deadline: Option<String>,
    online: Vec<String>,
    last: Option<String>,
    pub(crate) rules: Option<String>,
    pub(crate) next: Option<String>,
}

impl RoomTexts {
    /// Reads the answer of `look`; `None` when there is no such room.
    pub(crate) fn of(answer: &Value) -> std::result::Result<Option<RoomTexts>, Fault> {
        let wrong = || reply::unexpected("look", "a room", answer);
        let list = reply::list(answer).ok_or_else(wrong)?;
        if list.len() < 16 {
            return Ok(None);
        }
        let text = |n: usize| {
            reply::bytes(&list[n]).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let pairs = |n: usize| -> Vec<(String, String)> {
            let owned = |value: &Value| {
                String::from_utf8_lossy(reply::bytes(value).unwrap_or_default()).into_owned()
            };
            let pairs = reply::pairs(&list[n]).unwrap_or_default();
            pairs.into_iter().map(|(name, value)| (owned(name), owned(value))).collect()
        };
        let online = reply::list(&list[12]).unwrap_or_default();
        let Some(meta) = text(1) else { return Ok(None) };
        Ok(Some(RoomTexts {
            meta,
            game: text(2),
            senders: text(3),
            players: text(4),
            claims: pairs(5),
            scores: pairs(6),
            round: text(7),
            next_round: text(8),
            votes: pairs(9),
            delta: pairs(10),
            deadline: text(11),
            online: online.iter().filter_map(reply::text).map(str::to_owned).collect(),
            last: text(13),
            rules: text(14),
            next: text(15),
        }))
    }
}

impl RoomTexts {
    pub(crate) fn senders_text(&self) -> &str {
        self.senders.as_deref().unwrap_or_default()
    }
}

/// An item that ended, as it is kept for phones that were away.
#[derive(Debug, Deserialize)]
pub(crate) struct EndedVote<'a> {
    pub(crate) round_id: String,
    pub(crate) item_id: String,
    pub(crate) true_senders: Vec<String>,
    /// The guess of each player, as it was told.
    #[serde(borrow)]
    pub(crate) players: HashMap<String, &'a RawValue>,
}

/// The parts that a look asks for beside `meta` and `game`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts(pub(crate) &'static str);

impl Parts {
    /// All that several of them ask for.
    pub(crate) fn all(of: &[Parts]) -> String {
        of.iter().map(|parts| parts.0).collect()
    }

    pub(crate) fn has(self, part: char) -> bool {
        self.0.contains(part)
    }
}

/// A room, read.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    pub(crate) seen: &'a RoomTexts,
    pub(crate) meta: Meta,
    pub(crate) game: Game,
    pub(crate) senders: Vec<Sender>,
    pub(crate) players: Vec<Player<'a>>,
    /// Player → device.
    pub(crate) claims: HashMap<&'a str, &'a str>,
    pub(crate) scores: HashMap<&'a str, i64>,
    pub(crate) round: Option<Round>,
    pub(crate) next_round: Option<Round>,
    pub(crate) votes: HashMap<&'a str, Vote>,
    pub(crate) delta: HashMap<&'a str, i64>,
    pub(crate) deadline: Option<u64>,
    pub(crate) rules: Rules,
}

impl<'a> Room<'a> {
    /// Reads what was seen. A room without its documents is no room; one that cannot be read is a fault.
    pub(crate) fn read(
        keys: Keys,
        code: &str,
        seen: &'a RoomTexts,
        parts: Parts,
        now_ms: u64,
    ) -> Result<Self> {
        let meta: Meta = parse(&keys.meta(code).map_err(bad_id)?, &seen.meta)?;
        if now_ms >= meta.expires_at {
            return Err(Refused::expired().into());
        }
        let incomplete = || Refused::new(word::ROOM_INCOMPLETE);
        let game_text = seen.game.as_deref().ok_or_else(incomplete)?;
        let list = |wanted: bool, text: &'a Option<String>| match (wanted, text.as_deref()) {
            (true, None) => Err(incomplete()),
            (true, Some(text)) => Ok(text),
            (false, _) => Ok("[]"),
        };
        let senders = list(parts.has('s'), &seen.senders)?;
        let players = list(parts.has('p'), &seen.players)?;
        let game: Game = parse(&keys.game(code).map_err(bad_id)?, game_text)?;
        let round = |text: &Option<String>| match text {
            Some(text) => parse::<Round>("round", text).map(Some),
            None => Ok(None),
        };
        Ok(Room {
            senders: parse(&keys.senders(code).map_err(bad_id)?, senders)?,
            players: parse(&keys.players(code).map_err(bad_id)?, players)?,
            claims: seen.claims.iter().map(|(p, d)| (p.as_str(), d.as_str())).collect(),
            scores: numbers(&seen.scores),
            round: round(&seen.round)?,
            next_round: round(&seen.next_round)?,
            // A foreign writer's unreadable vote counts as a vote for nobody.
            votes: seen
                .votes
                .iter()
                .map(|(player, text)| {
                    let nobody = Vote { selections: Vec::new(), ts: 0 };
                    (player.as_str(), serde_json::from_str(text).unwrap_or(nobody))
                })
                .collect(),
            delta: numbers(&seen.delta),
            deadline: seen.deadline.as_ref().and_then(|text| text.parse().ok()),
            // Rules that cannot be read are as good as none.
            rules: (seen.rules.as_deref())
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
            seen,
            meta,
            game,
        })
    }

    pub(crate) fn player(&self, player_id: &str) -> Option<&Player<'a>> {
        self.players.iter().find(|player| player.player_id == player_id)
    }

    pub(crate) fn active_players(&self) -> impl Iterator<Item = &Player<'a>> {
        self.players.iter().filter(|player| player.active)
    }

    /// The player this device holds.
    pub(crate) fn player_of(&self, device: &str) -> Option<&'a str> {
        self.claims.iter().find(|(_, holder)| **holder == device).map(|(player, _)| *player)
    }

    pub(crate) fn score(&self, player_id: &str) -> i64 {
        self.scores.get(player_id).copied().unwrap_or(0)
    }

    /// The item at hand: none in the lobby, in a recap and after the end.
    pub(crate) fn item(&self) -> Option<(&Round, usize, &Item)> {
        let round = self.round.as_ref()?;
        let at = self.game.current_item_index?;
        Some((round, at, round.items.get(at)?))
    }

    /// The open vote, and whether everybody expected has voted: then a writer died before closing it.
    pub(crate) fn open_ballot(&self) -> Option<(&Ballot, bool)> {
        let ballot = self.game.vote.as_ref().filter(|_| self.game.status == Status::Vote)?;
        let all = ballot.expected_player_ids.iter().all(|p| self.votes.contains_key(p.as_str()));
        Some((ballot, all && !ballot.expected_player_ids.is_empty()))
    }

    /// The outcome of the last item that ended. Unreadable is as good as none: it is a convenience.
    pub(crate) fn last(&self) -> Option<EndedVote<'_>> {
        serde_json::from_str(self.seen.last.as_deref()?).ok()
    }

    /// Players with an open socket, from members `<server>:<player_id>`, in the order of the players.
    pub(crate) fn connected(&self) -> Vec<&str> {
        let online: Vec<&str> =
            self.seen.online.iter().filter_map(|member| member.rsplit(':').next()).collect();
        self.players.iter().map(|p| p.player_id.as_str()).filter(|p| online.contains(p)).collect()
    }
}

fn numbers(pairs: &[(String, String)]) -> HashMap<&str, i64> {
    pairs.iter().map(|(name, text)| (name.as_str(), text.parse().unwrap_or(0))).collect()
}

fn parse<'a, T: Deserialize<'a>>(key: impl AsRef<str>, text: &'a str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| corrupt(key, &error.to_string()).into())
}

/// Why the verbs could not read a document, for the check.
pub(crate) fn check<T: serde::de::DeserializeOwned>(
    text: &[u8],
) -> std::result::Result<(), String> {
    serde_json::from_slice::<T>(text).map(drop).map_err(|error| error.to_string())
}

/// The same for players, which borrow from their text.
pub(crate) fn check_players(text: &[u8]) -> std::result::Result<(), String> {
    serde_json::from_slice::<Vec<Player<'_>>>(text).map(drop).map_err(|error| error.to_string())
}

pub(crate) fn corrupt(key: impl AsRef<str>, detail: &str) -> Fault {
    Fault::Corrupt { key: key.as_ref().to_owned(), detail: detail.to_owned() }
}

/// An id that cannot be part of a key names no room.
#[allow(clippy::needless_pass_by_value)] // as `map_err` hands it over
pub(crate) fn bad_id(_: kernel::keyspace::BadId) -> Refused {
    Refused::not_found()
}

/// The digest that stands for a large text in a guard.
pub(crate) fn sha(text: &str) -> String {
    kernel::sha1_hex(text.as_bytes())
}
