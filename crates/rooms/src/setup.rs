//! The body of `CREATE_ROOM` and `POST /api/rooms`: its limits, its checks in their order, and the documents of
//! the new room. The first thing wrong is answered with its word and its place.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde_json::json;

use crate::error::{Refused, Word, word};
use crate::ids;
use crate::model::{Game, Item, Meta, Phase, Player, Reel, Round, Rules, Sender, Status};

/// Twelve hours, fixed by the seed.
pub const LIFE_S: u64 = 43_200;

/// How large a room may be.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Senders at most; at least two.
    pub senders: usize,
    /// Rounds at most.
    pub rounds: usize,
    /// Items of one round at most.
    pub items_per_round: usize,
    /// Items of all rounds at most.
    pub items: usize,
    /// Characters of a reel's address at most.
    pub url_chars: usize,
    /// Characters of an avatar at most.
    pub avatar_chars: usize,
    /// Players at most, those added by hand included.
    pub players: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            senders: 64,
            rounds: 200,
            items_per_round: 64,
            items: 2_000,
            url_chars: 2_048,
            avatar_chars: 200_000,
            players: 64,
        }
    }
}

/// A room to be made, as clients send it.
#[derive(Debug, Clone, Deserialize)]
pub struct Setup {
    /// The senders of reels.
    pub senders: Vec<SenderSetup>,
    /// The rounds that are played.
    pub rounds: Vec<RoundSetup>,
    /// In which order; as given when left out.
    #[serde(default)]
    pub round_order: Option<Vec<String>>,
    /// How it is played; neither timer nor latecomers when left out.
    #[serde(default)]
    pub rules: Option<RulesSetup>,
    /// Only for people who play on: sender of this room → player of the earlier one. By their names when left out.
    #[serde(default)]
    pub seats: Option<BTreeMap<String, String>>,
}

/// The rules of a setup.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct RulesSetup {
    /// How long a vote is open, in milliseconds; 0 for as long as it takes.
    #[serde(default)]
    pub vote_ms: u64,
    /// Whether people without a seat may join as players.
    #[serde(default)]
    pub latecomers: bool,
}

/// A vote lasts so long, in milliseconds; the reel is watched meanwhile.
const VOTE_MS: std::ops::RangeInclusive<u64> = 5_000..=600_000;

/// Reads the time of a vote: 0 is none.
pub(crate) fn vote_ms(given: u64, path: &str) -> Result<Option<u64>, Refused> {
    match given {
        0 => Ok(None),
        ms if VOTE_MS.contains(&ms) => Ok(Some(ms)),
        _ => Err(refuse(word::RULES_INVALID, path)),
    }
}

/// One sender of a setup.
#[derive(Debug, Clone, Deserialize)]
pub struct SenderSetup {
    /// The id.
    pub sender_id: String,
    /// The name.
    pub name: String,
    /// Whether it plays; yes when left out.
    #[serde(default = "yes")]
    pub active: bool,
    /// How many reels they sent.
    #[serde(default)]
    pub reels_count: i64,
}

/// One round of a setup.
#[derive(Debug, Clone, Deserialize)]
pub struct RoundSetup {
    /// The id.
    pub round_id: String,
    /// The items.
    pub items: Vec<ItemSetup>,
}

/// One item of a setup.
#[derive(Debug, Clone, Deserialize)]
pub struct ItemSetup {
    /// The id.
    pub item_id: String,
    /// The thing that is shown.
    pub reel: Reel,
    /// The sender.
    pub true_sender_ids: Vec<String>,
    /// How many may be chosen; all true senders when left out.
    #[serde(default)]
    pub k: Option<i64>,
}

fn yes() -> bool {
    true
}

/// The documents of a new room.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) senders: Vec<Sender>,
    pub(crate) players: Vec<Player<'a>>,
    pub(crate) rounds: Vec<Round>,
    pub(crate) game: Game,
    pub(crate) rules: Rules,
    /// Player → device: seats that people bring along.
    pub(crate) claims: Vec<(String, String)>,
}

pub(crate) fn refuse(word: Word, path: &str) -> Refused {
    Refused::with(word, json!({ "path": path }))
}

impl Setup {
    /// Reads a setup; what is missing or of the wrong type is `invalid_field`.
    pub fn read(payload: &str) -> Result<Setup, Refused> {
        serde_json::from_str(payload).map_err(|error| {
            let text = error.to_string();
            let field = text.split('`').nth(1).unwrap_or("senders").to_owned();
            let details = json!({ "field": field });
            Refused::with(word::INVALID_FIELD, details)
        })
    }

    /// Checks everything and makes the documents.
    pub(crate) fn plan<'a>(&self, sizes: &Sizes, now_ms: u64) -> Result<Plan<'a>, Refused> {
        let senders = self.senders(sizes)?;
        let rounds = self.rounds(sizes, &senders, now_ms)?;
        let round_order = self.order()?;
        let rules = self.rules.map(|given| {
            let vote_ms = vote_ms(given.vote_ms, "rules.vote_ms")?;
            Ok::<_, Refused>(Rules { vote_ms, latecomers: given.latecomers })
        });
        let players: Vec<Player<'a>> = senders
            .iter()
            .map(|sender| Player {
                player_id: ids::player_of_sender(&sender.sender_id),
                sender_id: Some(sender.sender_id.clone()),
                is_sender_bound: true,
                active: sender.active,
                name: sender.name.clone(),
                avatar_url: None,
            })
            .collect();
        let game = Game {
            phase: Phase::Lobby,
            round_order,
            current_round_id: None,
            current_item_index: None,
            status: Status::Idle,
            vote: None,
            version: 1,
        };
        let rules = rules.transpose()?.unwrap_or_default();
        Ok(Plan { senders, players, rounds, game, rules, claims: Vec::new() })
    }

    fn senders(&self, sizes: &Sizes) -> Result<Vec<Sender>, Refused> {
        if !(2..=sizes.senders).contains(&self.senders.len()) {
            return Err(refuse(word::SENDERS_COUNT, "senders"));
        }
        let mut ids = HashSet::new();
        let mut senders = Vec::with_capacity(self.senders.len());
        for (at, given) in self.senders.iter().enumerate() {
            let path = |field: &str| format!("senders[{at}].{field}");
            // A player's id may be two characters longer, and becomes part of keys too.
            let player_id = ids::player_of_sender(&given.sender_id);
            if !ids::is_id(&given.sender_id) || !ids::is_id(&player_id) {
                return Err(refuse(word::SENDER_ID_INVALID, &path("sender_id")));
            }
            if !ids.insert(given.sender_id.as_str()) {
                return Err(refuse(word::SENDER_ID_DUPLICATE, &path("sender_id")));
            }
            let name = ids::read_name(&given.name)
                .ok_or_else(|| refuse(word::SENDER_NAME_INVALID, &path("name")))?;
            let reels_count = u64::try_from(given.reels_count)
                .ok()
                .filter(|count| *count <= 1_000_000_000)
                .ok_or_else(|| refuse(word::REELS_COUNT_INVALID, &path("reels_count")))?;
            senders.push(Sender {
                sender_id: given.sender_id.clone(),
                name,
                active: given.active,
                reels_count,
            });
        }
        if senders.iter().filter(|sender| sender.active).count() < 2 {
            return Err(refuse(word::TOO_FEW_ACTIVE_SENDERS, "senders"));
        }
        Ok(senders)
    }

    fn rounds(
        &self,
        sizes: &Sizes,
        senders: &[Sender],
        now_ms: u64,
    ) -> Result<Vec<Round>, Refused> {
        if !(1..=sizes.rounds).contains(&self.rounds.len()) {
            return Err(refuse(word::ROUNDS_COUNT, "rounds"));
        }
        if self.rounds.iter().map(|round| round.items.len()).sum::<usize>() > sizes.items {
            return Err(refuse(word::TOO_LARGE, "rounds"));
        }
        let known: HashSet<&str> = senders.iter().map(|sender| sender.sender_id.as_str()).collect();
        let (mut ids, mut urls) = (HashSet::new(), HashSet::new());
        let mut rounds = Vec::with_capacity(self.rounds.len());
        for (at, given) in self.rounds.iter().enumerate() {
            let path = |field: &str| format!("rounds[{at}].{field}");
            if !ids::is_id(&given.round_id) {
                return Err(refuse(word::ROUND_ID_INVALID, &path("round_id")));
            }
            if !ids.insert(given.round_id.as_str()) {
                return Err(refuse(word::ROUND_ID_DUPLICATE, &path("round_id")));
            }
            if !(1..=sizes.items_per_round).contains(&given.items.len()) {
                return Err(refuse(word::ROUND_ITEMS_COUNT, &path("items")));
            }
            let mut item_ids = HashSet::new();
            let mut items = Vec::with_capacity(given.items.len());
            for (n, item) in given.items.iter().enumerate() {
                let place = path(&format!("items[{n}]"));
                if ids::is_id(&item.item_id) && !item_ids.insert(item.item_id.as_str()) {
                    return Err(refuse(word::ITEM_ID_DUPLICATE, &format!("{place}.item_id")));
                }
                let item = item.check(&place, &known, sizes)?;
                if !urls.insert(item.reel.url.clone()) {
                    return Err(refuse(word::REEL_URL_DUPLICATE, &format!("{place}.reel.url")));
                }
                items.push(item);
            }
            rounds.push(Round { round_id: given.round_id.clone(), created_at: now_ms, items });
        }
        Ok(rounds)
    }

    fn order(&self) -> Result<Vec<String>, Refused> {
        let given: Vec<String> = self.rounds.iter().map(|round| round.round_id.clone()).collect();
        let Some(order) = &self.round_order else { return Ok(given) };
        let (mut left, mut right) = (given, order.clone());
        left.sort();
        right.sort();
        if left == right {
            Ok(order.clone())
        } else {
            Err(refuse(word::ROUND_ORDER_INVALID, "round_order"))
        }
    }
}

impl ItemSetup {
    fn check(&self, place: &str, known: &HashSet<&str>, sizes: &Sizes) -> Result<Item, Refused> {
        let at = |field: &str| format!("{place}.{field}");
        if !ids::is_id(&self.item_id) {
            return Err(refuse(word::ITEM_ID_INVALID, &at("item_id")));
        }
        if !ids::is_id(&self.reel.reel_id) {
            return Err(refuse(word::REEL_ID_INVALID, &at("reel.reel_id")));
        }
        if !is_url(&self.reel.url, sizes.url_chars) {
            return Err(refuse(word::REEL_URL_INVALID, &at("reel.url")));
        }
        let truth = &self.true_sender_ids;
        let distinct: HashSet<&str> = truth.iter().map(String::as_str).collect();
        if truth.is_empty() || distinct.len() != truth.len() || !distinct.is_subset(known) {
            return Err(refuse(word::TRUE_SENDERS_INVALID, &at("true_sender_ids")));
        }
        let k = match self.k {
            None => truth.len(),
            Some(k) => usize::try_from(k)
                .ok()
                .filter(|k| (1..=truth.len()).contains(k))
                .ok_or_else(|| refuse(word::K_INVALID, &at("k")))?,
        };
        Ok(Item {
            item_id: self.item_id.clone(),
            reel: self.reel.clone(),
            true_sender_ids: truth.clone(),
            k,
        })
    }
}

/// An `http` or `https` address without blanks, control characters or a name inside it.
fn is_url(url: &str, most_chars: usize) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    url.chars().count() <= most_chars
        && !host.is_empty()
        && !host.contains('@')
        && !url.contains(|c: char| c.is_whitespace() || c.is_control() || "\"<>\\^`{|}".contains(c))
}

/// The first `meta` of a room.
pub(crate) fn first_meta(code: &str, hash: String, now_ms: u64) -> Meta {
    Meta {
        code: code.to_owned(),
        created_at: now_ms,
        expires_at: now_ms + LIFE_S * 1000,
        phase: Phase::Lobby,
        version: 1,
        master_key_hash: hash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> serde_json::Value {
        json!({
            "senders": [
                {"sender_id": "s12", "name": "Camille", "active": true, "reels_count": 37},
                {"sender_id": "s44", "name": "Nico", "active": true, "reels_count": 0},
                {"sender_id": "zed", "name": "Z", "active": false, "reels_count": 1}
            ],
            "rounds": [
                {"round_id": "r1", "items": [{"item_id": "i1", "reel": {"reel_id": "a", "url": "https://x.test/1"}, "true_sender_ids": ["s12", "zed"]}]},
                {"round_id": "r2", "items": [{"item_id": "i1", "reel": {"reel_id": "a", "url": "https://x.test/2"}, "true_sender_ids": ["s44"], "k": 1}]}
            ]
        })
    }

    fn word(setup: &serde_json::Value) -> String {
        let planned = Setup::read(&setup.to_string()).and_then(|s| s.plan(&Sizes::default(), 5));
        planned.map_or_else(|refused| refused.message.to_owned(), |_| "ok".to_owned())
    }

    #[test]
    fn a_good_setup_becomes_documents() {
        let setup = Setup::read(&good().to_string()).unwrap();
        let plan = setup.plan(&Sizes::default(), 5).unwrap();
        assert_eq!(plan.rounds[0].items[0].k, 2);
        assert_eq!(plan.players[2].player_id, "p_zed");
        assert!(!plan.players[2].active);
        assert_eq!(plan.game.round_order, ["r1", "r2"]);
    }

    #[test]
    fn each_fault_has_its_word() {
        assert_eq!(word(&good()), "ok");
        let many: Vec<_> = (0..65)
            .map(|n| json!({"sender_id": format!("s{n}"), "name": format!("n{n}")}))
            .collect();
        let rounds: Vec<_> =
            (0..201).map(|n| json!({"round_id": format!("r{n}"), "items": []})).collect();
        let item = good()["rounds"][0]["items"][0].clone();
        let cases: Vec<(&str, serde_json::Value, &str)> = vec![
            ("/senders", json!([]), "senders_count"),
            ("/senders", json!(many), "senders_count"),
            ("/senders", json!("x"), "invalid_field"),
            ("/senders/0/sender_id", json!("a:b"), "sender_id_invalid"),
            ("/senders/0/sender_id", json!("x".repeat(63)), "sender_id_invalid"),
            ("/senders/0/sender_id", json!("s44"), "sender_id_duplicate"),
            ("/senders/0/name", json!("a\u{7}"), "sender_name_invalid"),
            ("/senders/0/reels_count", json!(-1), "reels_count_invalid"),
            ("/senders/0/active", json!(false), "too_few_active_senders"),
            ("/rounds", json!([]), "rounds_count"),
            ("/rounds", json!(rounds), "rounds_count"),
            ("/rounds/0/round_id", json!("r*"), "round_id_invalid"),
            ("/rounds/0/round_id", json!("r2"), "round_id_duplicate"),
            ("/rounds/0/items", json!([]), "round_items_count"),
            ("/rounds/0/items", json!([item, item]), "item_id_duplicate"),
            ("/rounds/0/items/0/item_id", json!(""), "item_id_invalid"),
            ("/rounds/0/items/0/reel/reel_id", json!("a b"), "reel_id_invalid"),
            ("/rounds/0/items/0/reel/url", json!("javascript:alert(1)"), "reel_url_invalid"),
            ("/rounds/0/items/0/reel/url", json!("https://u:p@x.test/"), "reel_url_invalid"),
            ("/rounds/0/items/0/reel/url", json!("https://"), "reel_url_invalid"),
            (
                "/rounds/0/items/0/reel/url",
                json!(format!("https://x/{}", "a".repeat(2048))),
                "reel_url_invalid",
            ),
            ("/rounds/0/items/0/reel/url", json!("https://x.test/2"), "reel_url_duplicate"),
            ("/rounds/0/items/0/true_sender_ids", json!([]), "true_senders_invalid"),
            ("/rounds/0/items/0/true_sender_ids", json!(["s12", "s12"]), "true_senders_invalid"),
            ("/rounds/0/items/0/true_sender_ids", json!(["nobody"]), "true_senders_invalid"),
            ("/rounds/1/items/0/k", json!(2), "k_invalid"),
            ("/rounds/1/items/0/k", json!(0), "k_invalid"),
        ];
        for (place, value, expected) in cases {
            let mut setup = good();
            *setup.pointer_mut(place).unwrap() = value;
            assert_eq!(word(&setup), expected, "{place}");
        }
        for (rules, expected) in [
            (json!({"vote_ms": 30000, "latecomers": true}), "ok"),
            (json!({"vote_ms": 0}), "ok"),
            (json!({"vote_ms": 4999}), "rules_invalid"),
            (json!({"vote_ms": 600_001}), "rules_invalid"),
            (json!({"vote_ms": -1}), "invalid_field"),
            (json!("x"), "invalid_field"),
        ] {
            let mut setup = good();
            setup["rules"] = rules;
            assert_eq!(word(&setup), expected, "{}", setup["rules"]);
        }
        for order in [json!(["r1"]), json!(["r1", "r1"]), json!(["r1", "r2", "r3"])] {
            let mut setup = good();
            setup["round_order"] = order;
            assert_eq!(word(&setup), "round_order_invalid");
        }
        let mut setup = good();
        setup["round_order"] = json!(["r2", "r1"]);
        assert_eq!(word(&setup), "ok");
    }

    #[test]
    fn two_thousand_items_are_the_most() {
        let mut setup = good();
        let round = |r: usize| {
            let items: Vec<_> = (0..64)
                .map(|n| json!({"item_id": format!("i{n}"), "reel": {"reel_id": "a", "url": format!("https://x.test/{r}/{n}")}, "true_sender_ids": ["s12"]}))
                .collect();
            json!({"round_id": format!("r{r}"), "items": items})
        };
        setup["rounds"] = (0..31).map(round).collect();
        assert_eq!(word(&setup), "ok");
        setup["rounds"] = (0..32).map(round).collect();
        assert_eq!(word(&setup), "too_large");
    }
}
