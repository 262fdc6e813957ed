//! The views of a room that each side has. Play sees active players and senders; the Master, with the key, sees all.
//! The true senders of an item are in no view before its vote is closed, and a device id is in none at all.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::model::{Item, Phase, Player, Reel, Round, Rules, Sender, Status, Vote};
use crate::seen::Room;

/// `PlayerVisible` and `PlayerAll`: the same members.
#[derive(Debug, Serialize)]
pub(crate) struct PlayerView<'a> {
    player_id: &'a str,
    sender_id: Option<&'a str>,
    is_sender_bound: bool,
    active: bool,
    status: &'static str,
    name: &'a str,
    avatar_url: Option<&'a RawValue>,
}

impl<'a> PlayerView<'a> {
    pub(crate) fn new(player: &'a Player<'_>, taken: bool) -> Self {
        PlayerView {
            player_id: &player.player_id,
            sender_id: player.sender_id.as_deref(),
            is_sender_bound: player.is_sender_bound,
            active: player.active,
            status: match (player.active, taken) {
                (false, _) => "disabled",
                (true, true) => "taken",
                (true, false) => "free",
            },
            name: &player.name,
            avatar_url: player.avatar_url,
        }
    }
}

/// `PLAYER_UPDATE`.
#[derive(Debug, Serialize)]
pub(crate) struct PlayerUpdate<'a> {
    pub(crate) code: &'a str,
    pub(crate) player: PlayerView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sender_updated: Option<&'a Sender>,
}

/// A choice of a vote.
#[derive(Debug, Serialize)]
pub(crate) struct Selectable<'a> {
    sender_id: &'a str,
    name: &'a str,
}

/// `Item`.
#[derive(Debug, Serialize)]
pub(crate) struct ItemView<'a> {
    round_id: &'a str,
    item_index: usize,
    item_id: &'a str,
    reel: &'a Reel,
    k: usize,
    senders_selectable: Vec<Selectable<'a>>,
    slots_total: usize,
    items_total: usize,
}

/// `NEW_ITEM`.
#[derive(Debug, Serialize)]
pub(crate) struct NewItem<'a> {
    pub(crate) code: &'a str,
    #[serde(flatten)]
    pub(crate) item: ItemView<'a>,
    pub(crate) version: u64,
    /// The round's place in the game, so that a page which was there from the lobby on need not ask.
    pub(crate) round_index: Option<usize>,
    pub(crate) rounds_total: usize,
}

/// `VoteResult`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct VoteResult<'a> {
    pub(crate) player_id: &'a str,
    selections: Vec<&'a str>,
    correct: Vec<&'a str>,
    incorrect: Vec<&'a str>,
    points_gained: usize,
    score_total: i64,
}

/// `VOTE_RESULTS` without its `code`.
#[derive(Debug, Serialize)]
pub(crate) struct Results<'a> {
    round_id: &'a str,
    item_id: &'a str,
    pub(crate) true_senders: &'a [String],
    pub(crate) players: Vec<VoteResult<'a>>,
    version: u64,
}

/// A line of `ROUND_RECAP`.
#[derive(Debug, Serialize)]
pub(crate) struct RecapLine<'a> {
    player_id: &'a str,
    points_round: i64,
    score_total: i64,
}

/// A line of the podium.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Ranked<'a> {
    player_id: &'a str,
    score_total: i64,
    rank: usize,
}

#[derive(Debug, Serialize)]
struct GameView<'a> {
    current_round_id: Option<&'a str>,
    current_item_index: Option<usize>,
    status: Status,
    version: u64,
    round_index: Option<usize>,
    rounds_total: usize,
    item: Option<ItemView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[allow(clippy::option_option)] // left out for others, null for a player who has not voted
    my_vote: Option<Option<&'a Vote>>,
    /// Whether this player is asked in the open vote: a latecomer is from the next item on.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_vote: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_player_ids: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    votes_received_player_ids: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_vote_results: Option<Results<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recap: Option<Vec<RecapLine<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    force_close_ends_at_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_result: Option<LastResult<'a>>,
}

/// `ITEM_RESULT` again, for a phone that was away when it was told.
#[derive(Debug, Serialize)]
struct LastResult<'a> {
    round_id: String,
    item_id: String,
    true_senders: Vec<String>,
    mine: Option<&'a RawValue>,
}

/// The same as it is kept.
#[derive(Debug, Serialize)]
pub(crate) struct KeptResults<'a> {
    round_id: &'a str,
    item_id: &'a str,
    true_senders: &'a [String],
    players: BTreeMap<&'a str, &'a VoteResult<'a>>,
}

impl<'a> Results<'a> {
    pub(crate) fn kept(&'a self) -> KeptResults<'a> {
        KeptResults {
            round_id: self.round_id,
            item_id: self.item_id,
            true_senders: self.true_senders,
            players: self.players.iter().map(|one| (one.player_id, one)).collect(),
        }
    }
}

/// `STATE_SYNC_RESPONSE`.
#[derive(Debug, Serialize)]
pub(crate) struct StateSync<'a> {
    code: &'a str,
    phase: Phase,
    expires_at: u64,
    players_visible: Vec<PlayerView<'a>>,
    senders_visible: Vec<&'a Sender>,
    my_player_id: Option<&'a str>,
    game: Option<GameView<'a>>,
    scores: BTreeMap<&'a str, i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<Vec<Ranked<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    players_all: Option<Vec<PlayerView<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    senders_all: Option<&'a [Sender]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connected_player_ids: Option<Vec<&'a str>>,
    rules: &'a Rules,
    /// The room in which these people play on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_code: Option<&'a str>,
}

impl Room<'_> {
    pub(crate) fn view<'a>(&'a self, player: &'a Player<'_>) -> PlayerView<'a> {
        PlayerView::new(player, self.claims.contains_key(player.player_id.as_str()))
    }

    pub(crate) fn players_visible(&self) -> Vec<PlayerView<'_>> {
        self.active_players().map(|player| self.view(player)).collect()
    }

    pub(crate) fn senders_visible(&self) -> Vec<&Sender> {
        self.senders.iter().filter(|sender| sender.active).collect()
    }

    pub(crate) fn selectable(&self) -> Vec<Selectable<'_>> {
        let view = |sender| {
            let Sender { sender_id, name, .. }: &Sender = sender;
            Selectable { sender_id, name }
        };
        self.senders_visible().into_iter().map(view).collect()
    }

    pub(crate) fn item_view<'a>(
        &'a self,
        round: &'a Round,
        at: usize,
        item: &'a Item,
    ) -> ItemView<'a> {
        ItemView {
            round_id: &round.round_id,
            item_index: at,
            item_id: &item.item_id,
            reel: &item.reel,
            k: item.k,
            senders_selectable: self.selectable(),
            slots_total: item.k,
            items_total: round.items.len(),
        }
    }

    pub(crate) fn new_item<'a>(
        &'a self,
        code: &'a str,
        round: &'a Round,
        at: usize,
        item: &'a Item,
        version: u64,
    ) -> NewItem<'a> {
        NewItem {
            code,
            item: self.item_view(round, at, item),
            version,
            round_index: self.round_place(&round.round_id),
            rounds_total: self.game.round_order.len(),
        }
    }

    fn round_place(&self, round_id: &str) -> Option<usize> {
        self.game.round_order.iter().position(|known| known == round_id)
    }

    /// The results of the closed vote, recomputed from votes, round and scores.
    pub(crate) fn results(&self) -> Option<Results<'_>> {
        let ballot = self.game.vote.as_ref()?;
        let round = self.round.as_ref()?;
        let item = round.items.iter().find(|item| item.item_id == ballot.item_id)?;
        let truth = |sender: &&str| item.true_sender_ids.iter().any(|known| known == sender);
        let result = |player: &'_ String| {
            let mut selections: Vec<&str> = Vec::new();
            for sender in self.votes.get(player.as_str()).map_or(&[][..], |vote| &vote.selections) {
                if !selections.contains(&sender.as_str()) {
                    selections.push(sender);
                }
            }
            let (correct, incorrect): (Vec<&str>, Vec<&str>) =
                selections.iter().copied().partition(truth);
            (selections, correct, incorrect)
        };
        let players = ballot
            .expected_player_ids
            .iter()
            .map(|player| {
                let (selections, correct, incorrect) = result(player);
                let points_gained = correct.len();
                let score_total = self.score(player);
                VoteResult {
                    player_id: player,
                    selections,
                    correct,
                    incorrect,
                    points_gained,
                    score_total,
                }
            })
            .collect();
        Some(Results {
            round_id: &ballot.round_id,
            item_id: &ballot.item_id,
            true_senders: &item.true_sender_ids,
            players,
            version: self.game.version,
        })
    }

    pub(crate) fn recap(&self) -> Vec<RecapLine<'_>> {
        self.active_players()
            .map(|player| RecapLine {
                player_id: &player.player_id,
                points_round: self.delta.get(player.player_id.as_str()).copied().unwrap_or(0),
                score_total: self.score(&player.player_id),
            })
            .collect()
    }

    /// Active players by points, then by id; equal points share a rank and the next one skips.
    pub(crate) fn ranking(&self) -> Vec<Ranked<'_>> {
        let mut lines: Vec<(&str, i64)> = self
            .active_players()
            .map(|p| (p.player_id.as_str(), self.score(&p.player_id)))
            .collect();
        lines.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
        let rank = |score: i64| 1 + lines.iter().filter(|(_, other)| *other > score).count();
        lines
            .iter()
            .map(|(player_id, score)| Ranked { player_id, score_total: *score, rank: rank(*score) })
            .collect()
    }

    pub(crate) fn scores_of(&self, master: bool) -> BTreeMap<&str, i64> {
        self.players
            .iter()
            .filter(|player| master || player.active)
            .map(|player| (player.player_id.as_str(), self.score(&player.player_id)))
            .collect()
    }

    fn game_view<'a>(&'a self, mine: Option<&str>, master: bool) -> Option<GameView<'a>> {
        if self.meta.phase == Phase::Lobby {
            return None;
        }
        let game = &self.game;
        let playing = self.meta.phase == Phase::Game;
        let voting = playing && game.status == Status::Vote;
        let revealing = playing && game.status == Status::RevealWait;
        let received = || {
            let expected = &game.vote.as_ref()?.expected_player_ids;
            let all = expected.iter().map(String::as_str);
            Some(all.filter(|player| self.votes.contains_key(player)).collect())
        };
        Some(GameView {
            current_round_id: game.current_round_id.as_deref(),
            current_item_index: game.current_item_index,
            status: game.status,
            version: game.version,
            round_index: game.current_round_id.as_deref().and_then(|id| self.round_place(id)),
            rounds_total: game.round_order.len(),
            item: self
                .item()
                .filter(|_| playing && game.status != Status::RoundRecap)
                .map(|(round, at, item)| self.item_view(round, at, item)),
            my_vote: mine.filter(|_| voting || revealing).map(|player| self.votes.get(player)),
            may_vote: mine.filter(|_| voting).and_then(|player| {
                let ballot = game.vote.as_ref()?;
                Some(ballot.expected_player_ids.iter().any(|known| known == player))
            }),
            expected_player_ids: (game.vote.as_ref())
                .filter(|_| master && voting)
                .map(|ballot| &ballot.expected_player_ids[..]),
            votes_received_player_ids: if master && voting { received() } else { None },
            current_vote_results: if master && revealing { self.results() } else { None },
            recap: (playing && game.status == Status::RoundRecap).then(|| self.recap()),
            force_close_ends_at_ms: self.deadline.filter(|_| voting),
            last_result: (playing && !master && !voting && !revealing)
                .then(|| self.last_result(mine))
                .flatten(),
        })
    }

    fn last_result(&self, mine: Option<&str>) -> Option<LastResult<'_>> {
        let crate::seen::EndedVote { round_id, item_id, true_senders, players } = self.last()?;
        let mine = mine.and_then(|player| players.get(player).copied());
        Some(LastResult { round_id, item_id, true_senders, mine })
    }

    /// The whole state as this caller may see it.
    pub(crate) fn state<'a>(&'a self, device: Option<&str>, master: bool) -> StateSync<'a> {
        let mine = device.and_then(|device| self.player_of(device));
        StateSync {
            code: &self.meta.code,
            phase: self.meta.phase,
            expires_at: self.meta.expires_at,
            players_visible: self.players_visible(),
            senders_visible: self.senders_visible(),
            my_player_id: mine,
            game: self.game_view(mine, master),
            scores: self.scores_of(master),
            ranking: (self.meta.phase == Phase::Over).then(|| self.ranking()),
            players_all: master.then(|| self.players.iter().map(|p| self.view(p)).collect()),
            senders_all: master.then_some(&self.senders),
            connected_player_ids: master.then(|| self.connected()),
            rules: &self.rules,
            next_code: self.seen.next.as_deref(),
        }
    }
}
