//! Keys of a party-game room (seed 003). Each lives twelve hours from the room's creation, never refreshed:
//! what is created later gets what is left of `meta`. Own keys are under `wk:rooms:`.

use kernel::keyspace::{Life, Secrecy};

use crate::model::{Game, Meta, Round, Rules, Sender};
use crate::seen::{check, check_players};

const ROOM: Life = Life::Inherited("meta");
/// An operator may close a room that nobody can read.
const CLOSE: Option<&str> = Some("worldkeep rooms close {code}");

kernel::keyspace! {
    module = "rooms" by "code",
    seed = Some("003"),
    about = "A party game played on phones: rooms, claims, votes, scores.",
    prefixes = &["room:", "wk:rooms:"],
    ;

    /// Room facts: phase, version, hash of the master key.
    seed meta(code: Code) = "room:{code}:meta", Json, Life::Secs(43_200),
        decoder = Some(check::<Meta>), remedy = CLOSE;
    /// All senders, active or not.
    seed senders(code: Code) = "room:{code}:senders", Json, ROOM,
        decoder = Some(check::<Vec<Sender>>), remedy = CLOSE;
    /// All players, active or not, with names and avatars.
    seed players(code: Code) = "room:{code}:players", Json, ROOM,
        decoder = Some(check_players), remedy = CLOSE;
    /// Who holds which player: field = player id, value = device id, which is a bearer secret.
    seed claims(code: Code) = "room:{code}:claims", Hash, ROOM, secrecy = Secrecy::Secret;
    /// Points so far: field = player id.
    seed scores(code: Code) = "room:{code}:scores", Hash, ROOM;
    /// Points won in one round: field = player id.
    seed round_delta(code: Code, round_id: Word) = "room:{code}:round_delta:{round_id}", Hash, ROOM;
    /// How far the game is: round, item, status, who is expected to vote.
    seed game(code: Code) = "room:{code}:game", Json, ROOM, decoder = Some(check::<Game>),
        remedy = CLOSE;
    /// The items of one round with their true senders; never rewritten.
    seed round(code: Code, round_id: Word) = "room:{code}:round:{round_id}", Json, ROOM,
        secrecy = Secrecy::Secret, decoder = Some(check::<Round>), remedy = CLOSE;
    /// Votes for one item of a round: field = player id, value = JSON of the selections.
    seed votes(code: Code, round_id: Word, item_id: Word)
        = "room:{code}:votes:{round_id}:{item_id}", Hash, ROOM;

    /// Unix ms at which a vote closes by itself; exists only while that counts down.
    own vote_deadline(code: Code) = "room:{code}:vote_deadline", Int, ROOM;
    /// Whose sockets are open: member = server and player id, score = Unix ms at which the lease ends.
    own online(code: Code) = "wk:rooms:{code}:online", Zset, ROOM;
    /// What the last item that ended came to, until the next one does: a phone that was away then still gets it.
    own last(code: Code) = "wk:rooms:{code}:last", Json, ROOM;
    /// How the host wants it played: time for a vote, whether latecomers may join. Absent means neither.
    own rules(code: Code) = "wk:rooms:{code}:rules", Json, ROOM, decoder = Some(check::<Rules>);
    /// Code of the room in which the same people play on.
    own next(code: Code) = "wk:rooms:{code}:next", String, ROOM;
    /// Codes of no room that an address asked for within a minute, on all servers; the address as SHA-1.
    own guesses(address: Word) = "wk:rooms:guesses:{address}", Int, Life::Secs(60);
    /// Votes to close by force, of all rooms: score = Unix ms at which it is due.
    own due() = "wk:rooms:due", Zset, Life::None;
    /// What each member of `due` means. Tagged with that key's name: a script takes both, so they share a slot.
    own due_data() = "wk:rooms:due:data", Hash, Life::None,
        tagged = Some("wk:rooms:{{wk:rooms:due}}:data");
    /// What happened in the rooms, for operators: ids and counts only.
    own events() = "wk:rooms:events", Stream, Life::None;
    /// What goes to a room's sockets on every server, in the order of the commits.
    own bus(code: Code) = "room:{code}:bus", Channel, Life::None;
}
