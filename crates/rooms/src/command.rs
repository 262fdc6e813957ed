//! Messages of clients: the envelope, each message with its fields, who must be who. Reading goes in the
//! protocol's order (envelope, fields); everything after that needs the room.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Refused, word};
use crate::ids;
use crate::seen::Parts;

/// One message, read as far as its envelope.
#[derive(Debug)]
pub struct Ask {
    /// The message's `id`, repeated in direct answers.
    pub id: Option<String>,
    /// The room it names, tolerant spelling undone.
    pub code: Option<String>,
    /// The device it names.
    pub device_id: Option<String>,
    /// The master key it brings.
    pub master_key: Option<String>,
    /// Whether it wants photos as links instead of data URLs; `None` when it does not say.
    pub photo_links: Option<bool>,
    /// The wish of the message.
    pub wish: Wish,
}

/// The wish of a message.
#[derive(Debug)]
pub enum Wish {
    /// `CREATE_ROOM`, with its payload.
    Create(Box<RawValue>),
    /// `JOIN_ROOM`.
    Join,
    /// `STATE_SYNC`.
    Sync,
    /// `PING`.
    Ping,
    /// Something in the room the socket is bound to.
    Do(Command),
}

/// The actions in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `TAKE_PLAYER`.
    TakePlayer {
        /// Which.
        player_id: String,
    },
    /// `RENAME_PLAYER`.
    RenamePlayer {
        /// Must be the caller's own, when given.
        player_id: Option<String>,
        /// As typed.
        new_name: String,
    },
    /// `UPDATE_AVATAR`.
    UpdateAvatar {
        /// Must be the caller's own, when given.
        player_id: Option<String>,
        /// A data URL; none removes it.
        image: Option<String>,
    },
    /// `TOGGLE_PLAYER`.
    TogglePlayer {
        /// Which.
        player_id: String,
        /// On or off.
        active: bool,
    },
    /// `START_GAME`.
    StartGame,
    /// `REEL_OPENED`.
    ReelOpened(RoundItem),
    /// `SUBMIT_VOTE`.
    SubmitVote {
        /// For which item.
        place: RoundItem,
        /// Must be the caller's own, when given.
        player_id: Option<String>,
        /// Sender ids.
        selections: Vec<String>,
    },
    /// `END_ITEM`.
    EndItem(RoundItem),
    /// `START_NEXT_ROUND`.
    StartNextRound,
    /// `ROOM_CLOSED`.
    CloseRoom,
    /// `RELEASE_PLAYER`.
    ReleasePlayer,
    /// `FREE_PLAYER`.
    FreePlayer {
        /// Which.
        player_id: String,
    },
    /// `RESET_CLAIMS`.
    ResetClaims,
    /// `ADD_PLAYER`.
    AddPlayer {
        /// As typed.
        name: String,
    },
    /// `DELETE_PLAYER`.
    DeletePlayer {
        /// Which.
        player_id: String,
    },
    /// `JOIN_LATE`: somebody without a seat becomes a player.
    JoinLate {
        /// As typed.
        name: String,
    },
    /// `SET_RULES`: what is left out stays.
    SetRules {
        /// How long a vote is open; 0 for as long as it takes.
        vote_ms: Option<u64>,
        /// Whether people without a seat may join as players.
        latecomers: Option<bool>,
    },
    /// `FORCE_CLOSE_VOTE`.
    ForceCloseVote {
        /// Of which item.
        place: RoundItem,
        /// How long people still have.
        delay_ms: u64,
    },
}

/// An item of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundItem {
    /// The round.
    pub round_id: String,
    /// The item.
    pub item_id: String,
}

/// Forced closes wait this long unless told otherwise, and never longer than a minute.
const DELAY_MS: u64 = 10_000;
const MAX_DELAY_MS: u64 = 60_000;

impl Command {
    /// The names of all of them.
    pub const NAMES: &'static [&'static str] = &[
        "TAKE_PLAYER",
        "RENAME_PLAYER",
        "UPDATE_AVATAR",
        "TOGGLE_PLAYER",
        "START_GAME",
        "REEL_OPENED",
        "SUBMIT_VOTE",
        "END_ITEM",
        "START_NEXT_ROUND",
        "ROOM_CLOSED",
        "RELEASE_PLAYER",
        "FREE_PLAYER",
        "RESET_CLAIMS",
        "ADD_PLAYER",
        "DELETE_PLAYER",
        "JOIN_LATE",
        "SET_RULES",
        "FORCE_CLOSE_VOTE",
    ];

    /// The message's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Command::TakePlayer { .. } => "TAKE_PLAYER",
            Command::RenamePlayer { .. } => "RENAME_PLAYER",
            Command::UpdateAvatar { .. } => "UPDATE_AVATAR",
            Command::TogglePlayer { .. } => "TOGGLE_PLAYER",
            Command::StartGame => "START_GAME",
            Command::ReelOpened(_) => "REEL_OPENED",
            Command::SubmitVote { .. } => "SUBMIT_VOTE",
            Command::EndItem(_) => "END_ITEM",
            Command::StartNextRound => "START_NEXT_ROUND",
            Command::CloseRoom => "ROOM_CLOSED",
            Command::ReleasePlayer => "RELEASE_PLAYER",
            Command::FreePlayer { .. } => "FREE_PLAYER",
            Command::ResetClaims => "RESET_CLAIMS",
            Command::AddPlayer { .. } => "ADD_PLAYER",
            Command::DeletePlayer { .. } => "DELETE_PLAYER",
            Command::JoinLate { .. } => "JOIN_LATE",
            Command::SetRules { .. } => "SET_RULES",
            Command::ForceCloseVote { .. } => "FORCE_CLOSE_VOTE",
        }
    }

    /// Whether only the Master may.
    pub const fn needs_master(&self) -> bool {
        !matches!(
            self,
            Command::TakePlayer { .. }
                | Command::RenamePlayer { .. }
                | Command::UpdateAvatar { .. }
                | Command::SubmitVote { .. }
                | Command::ReleasePlayer
                | Command::JoinLate { .. }
        )
    }

    /// The values that the decision looks at.
    pub(crate) const fn parts(&self) -> Parts {
        Parts(match self {
            Command::TakePlayer { .. }
            | Command::TogglePlayer { .. }
            | Command::UpdateAvatar { .. }
            | Command::FreePlayer { .. }
            | Command::DeletePlayer { .. } => "pc",
            // Without a claim the answer is the whole state.
            Command::ReleasePlayer | Command::ResetClaims => "spcordvfwux",
            Command::RenamePlayer { .. } | Command::AddPlayer { .. } => "psc",
            Command::StartGame => "pscn",
            Command::JoinLate { .. } => "pscu",
            Command::SetRules { .. } => "u",
            Command::ReelOpened(_) => "pscru",
            Command::SubmitVote { .. } => "scrv",
            Command::ForceCloseVote { .. } => "rvf",
            Command::EndItem(_) => "pscorvd",
            Command::StartNextRound => "pson",
            Command::CloseRoom => "",
        })
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
    #[serde(default)]
    id: Option<String>,
}

impl Ask {
    /// Reads a frame's text. The `id` comes along with a refusal when it could be read.
    pub fn read(text: &str) -> Result<Ask, (Refused, Option<String>)> {
        let Ok(whole) = serde_json::from_str::<&RawValue>(text) else {
            return Err((Refused::new(word::INVALID_JSON), None));
        };
        // A list would be taken for the members in their order.
        let envelope = Some(whole.get()).filter(|text| text.starts_with('{'));
        let envelope = envelope.and_then(|text| serde_json::from_str::<Envelope<'_>>(text).ok());
        let Some(envelope) = envelope else {
            return Err((Refused::new(word::INVALID_ENVELOPE), None));
        };
        let id = envelope.id;
        if id.as_ref().is_some_and(|id| id.chars().count() > 64) {
            return Err((Refused::new(word::INVALID_ENVELOPE), None));
        }
        let Some(payload) = envelope.payload.map(RawValue::get) else {
            return Err((Refused::new(word::INVALID_ENVELOPE), id));
        };
        match Fields::read(payload).and_then(|fields| fields.ask(&envelope.kind, payload)) {
            Ok(ask) => Ok(Ask { id, ..ask }),
            Err(refused) => Err((refused, id)),
        }
    }
}

/// The members of a payload, each as its raw text.
struct Fields<'a>(Vec<kernel::json::Member<'a>>);

impl<'a> Fields<'a> {
    fn read(payload: &'a str) -> Result<Self, Refused> {
        kernel::json::members(payload).map(Fields).map_err(|_| Refused::new(word::INVALID_ENVELOPE))
    }

    /// A member; null counts as left out.
    fn maybe<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Refused> {
        match self.0.iter().rev().find(|member| member.name == name) {
            None => Ok(None),
            Some(member) => {
                serde_json::from_str(member.raw.get()).map_err(|_| Refused::field(name))
            }
        }
    }

    fn must<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Refused> {
        self.maybe(name)?.ok_or_else(|| Refused::field(name))
    }

    fn maybe_id(&self, name: &str) -> Result<Option<String>, Refused> {
        match self.maybe::<String>(name)? {
            Some(id) if !ids::is_id(&id) => Err(Refused::field(name)),
            id => Ok(id),
        }
    }

    fn id(&self, name: &str) -> Result<String, Refused> {
        self.maybe_id(name)?.ok_or_else(|| Refused::field(name))
    }

    fn place(&self) -> Result<RoundItem, Refused> {
        Ok(RoundItem { round_id: self.id("round_id")?, item_id: self.id("item_id")? })
    }

    fn ask(&self, kind: &str, payload: &str) -> Result<Ask, Refused> {
        let wish = self.wish(kind, payload)?;
        let code = match self.maybe::<String>("code")? {
            Some(text) => Some(ids::read_code(&text).ok_or_else(|| Refused::field("code"))?),
            None => None,
        };
        let device_id = match self.maybe::<String>("device_id")? {
            Some(device) if !ids::is_device(&device) => return Err(Refused::field("device_id")),
            device => device,
        };
        let master_key: Option<String> = self.maybe("master_key")?;
        let photo_links = self.maybe::<String>("photos")?.map(|how| how == "links");
        match wish {
            Wish::Join | Wish::Sync if code.is_none() => return Err(Refused::field("code")),
            Wish::Join if device_id.is_none() => return Err(Refused::field("device_id")),
            _ => {}
        }
        Ok(Ask { id: None, code, device_id, master_key, photo_links, wish })
    }

    fn wish(&self, kind: &str, payload: &str) -> Result<Wish, Refused> {
        let command = match kind {
            "CREATE_ROOM" => {
                let payload = RawValue::from_string(payload.to_owned());
                return Ok(Wish::Create(payload.map_err(|_| Refused::new(word::INVALID_JSON))?));
            }
            "JOIN_ROOM" => return Ok(Wish::Join),
            "STATE_SYNC" => return Ok(Wish::Sync),
            "PING" => return Ok(Wish::Ping),
            "TAKE_PLAYER" => Command::TakePlayer { player_id: self.id("player_id")? },
            "RENAME_PLAYER" => Command::RenamePlayer {
                player_id: self.maybe_id("player_id")?,
                new_name: self.must("new_name")?,
            },
            "UPDATE_AVATAR" => {
                if !self.0.iter().any(|member| member.name == "image") {
                    return Err(Refused::field("image"));
                }
                let player_id = self.maybe_id("player_id")?;
                Command::UpdateAvatar { player_id, image: self.maybe("image")? }
            }
            "TOGGLE_PLAYER" => Command::TogglePlayer {
                player_id: self.id("player_id")?,
                active: self.must("active")?,
            },
            "START_GAME" => Command::StartGame,
            "REEL_OPENED" => Command::ReelOpened(self.place()?),
            "SUBMIT_VOTE" => Command::SubmitVote {
                place: self.place()?,
                player_id: self.maybe_id("player_id")?,
                selections: self.must("selections")?,
            },
            "END_ITEM" => Command::EndItem(self.place()?),
            "START_NEXT_ROUND" => Command::StartNextRound,
            "ROOM_CLOSED" => Command::CloseRoom,
            "RELEASE_PLAYER" => Command::ReleasePlayer,
            "FREE_PLAYER" => Command::FreePlayer { player_id: self.id("player_id")? },
            "RESET_CLAIMS" => Command::ResetClaims,
            "ADD_PLAYER" => Command::AddPlayer { name: self.must("name")? },
            "DELETE_PLAYER" => Command::DeletePlayer { player_id: self.id("player_id")? },
            "JOIN_LATE" => Command::JoinLate { name: self.must("name")? },
            "SET_RULES" => Command::SetRules {
                vote_ms: self.maybe("vote_ms")?,
                latecomers: self.maybe("latecomers")?,
            },
            "FORCE_CLOSE_VOTE" => {
                let delay_ms = self.maybe::<u64>("delay_ms")?.unwrap_or(DELAY_MS);
                if delay_ms > MAX_DELAY_MS {
                    return Err(Refused::field("delay_ms"));
                }
                Command::ForceCloseVote { place: self.place()?, delay_ms }
            }
            _ => return Err(Refused::new(word::UNKNOWN_TYPE)),
        };
        Ok(Wish::Do(command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> String {
        match Ask::read(text) {
            Ok(_) => "ok".into(),
            Err((refused, _)) => {
                let field = refused.details.as_ref().and_then(|d| d["field"].as_str());
                field.map_or(refused.message.to_owned(), |f| format!("{} {f}", refused.message))
            }
        }
    }

    #[test]
    fn bad_frames_have_their_words() {
        let deep = "[".repeat(100_000);
        for (text, expected) in [
            ("", "invalid_json"),
            ("{", "invalid_json"),
            ("{\"type\":\"PING\"} x", "invalid_json"),
            (deep.as_str(), "invalid_json"),
            ("[]", "invalid_envelope"),
            (r#"["PING",{}]"#, "invalid_envelope"),
            ("5", "invalid_envelope"),
            ("{}", "invalid_envelope"),
            (r#"{"type":5}"#, "invalid_envelope"),
            (r#"{"type":"PING","payload":[]}"#, "invalid_envelope"),
            (r#"{"type":"PING","id":5}"#, "invalid_envelope"),
            (r#"{"type":"PING"}"#, "invalid_envelope"),
            (r#"{"type":"START_GAME","payload":null}"#, "invalid_envelope"),
            (r#"{"type":"PING","payload":{}}"#, "ok"),
            (
                r#"{"type":"STATE_SYNC","payload":{"code":"ABCD","photos":1}}"#,
                "invalid_field photos",
            ),
            (r#"{"type":"SET_RULES","payload":{"vote_ms":"x"}}"#, "invalid_field vote_ms"),
            (r#"{"type":"JOIN_LATE","payload":{}}"#, "invalid_field name"),
            (r#"{"type":"NOPE","payload":{}}"#, "unknown_type"),
            (r#"{"type":"JOIN_ROOM","payload":{"device_id":"device-1"}}"#, "invalid_field code"),
            (r#"{"type":"JOIN_ROOM","payload":{"code":"ABCD2345"}}"#, "invalid_field device_id"),
            (r#"{"type":"JOIN_ROOM","payload":{"code":"abcd-2345","device_id":"device-1"}}"#, "ok"),
            (r#"{"type":"STATE_SYNC","payload":{"code":"A*"}}"#, "invalid_field code"),
            (
                r#"{"type":"STATE_SYNC","payload":{"code":"ABCD","device_id":"a b"}}"#,
                "invalid_field device_id",
            ),
            (r#"{"type":"TAKE_PLAYER","payload":{}}"#, "invalid_field player_id"),
            (r#"{"type":"TAKE_PLAYER","payload":{"player_id":"a:b"}}"#, "invalid_field player_id"),
            (
                r#"{"type":"SUBMIT_VOTE","payload":{"round_id":"r","item_id":"i","selections":"s1"}}"#,
                "invalid_field selections",
            ),
            (
                r#"{"type":"SUBMIT_VOTE","payload":{"round_id":"r","item_id":"i","selections":[1]}}"#,
                "invalid_field selections",
            ),
            (r#"{"type":"UPDATE_AVATAR","payload":{}}"#, "invalid_field image"),
            (r#"{"type":"UPDATE_AVATAR","payload":{"image":null}}"#, "ok"),
            (
                r#"{"type":"TOGGLE_PLAYER","payload":{"player_id":"p1","active":"yes"}}"#,
                "invalid_field active",
            ),
            (
                r#"{"type":"FORCE_CLOSE_VOTE","payload":{"round_id":"r","item_id":"i","delay_ms":60001}}"#,
                "invalid_field delay_ms",
            ),
            (
                r#"{"type":"FORCE_CLOSE_VOTE","payload":{"round_id":"r","item_id":"i","delay_ms":-1}}"#,
                "invalid_field delay_ms",
            ),
        ] {
            assert_eq!(word(text), expected, "{}", &text[..text.len().min(100)]);
        }
        assert_eq!(
            word(&format!(r#"{{"type":"PING","id":"{}"}}"#, "x".repeat(65))),
            "invalid_envelope"
        );
    }

    #[test]
    fn a_refusal_keeps_the_id() {
        let (_, id) = Ask::read(r#"{"type":"NOPE","id":"7"}"#).unwrap_err();
        assert_eq!(id.as_deref(), Some("7"));
    }
}
