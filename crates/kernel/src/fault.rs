//! Faults of the store below a module. A refusal (`taken_now`) is the module's own enum; a
//! [`Fault`] means that the store failed, and tells whether the step may have happened.

/// Something broke below us; the caller did nothing wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing was sent: safe to retry.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// It may have happened: look before repeating.
    #[error("no answer in time, outcome unknown: {0}")]
    Unknown(String),
    /// The store answered with an error reply; the command had no effect.
    #[error("store refused: {code} {detail}")]
    Refused {
        /// First word of the reply, such as `WRONGTYPE`, `OOM`, `NOPERM`.
        code: String,
        /// The rest of the reply.
        detail: String,
    },
    /// A stored value is not what its definition says.
    #[error("bad value at {key}: {detail}")]
    Corrupt {
        /// The key that holds it.
        key: String,
        /// The reason why the value cannot be used.
        detail: String,
    },
    /// An optimistic update lost every attempt.
    #[error("gave up on {key} after {attempts} attempts, others kept changing it")]
    Contended {
        /// The watched key.
        key: String,
        /// How often it was tried.
        attempts: u32,
    },
}

impl Fault {
    /// Starts the text of [`Fault::Unavailable`] where the store is there and does something else.
    pub const BUSY: &str = "busy:";

    /// Whether the store was there, and kept by somebody else until the deadline.
    pub fn is_busy(&self) -> bool {
        matches!(self, Fault::Unavailable(why) if why.starts_with(Self::BUSY))
    }

    /// Names the key where a script did: `WRONGTYPE <key> holds …, nothing was written` is a value that is not
    /// what its definition says.
    #[must_use]
    pub fn naming_key(self) -> Self {
        let Fault::Refused { code, detail } = &self else { return self };
        let told =
            detail.strip_suffix(", nothing was written").and_then(|told| told.split_once(' '));
        match told {
            Some((key, detail)) if code == "WRONGTYPE" => {
                Fault::Corrupt { key: key.to_owned(), detail: detail.to_owned() }
            }
            _ => self,
        }
    }

    /// Whether the same call may do better later: the store was away, busy, contended, or without room.
    pub fn may_pass(&self) -> bool {
        match self {
            Fault::Unavailable(_) | Fault::Unknown(_) | Fault::Contended { .. } => true,
            Fault::Refused { code, .. } => !matches!(code.as_str(), "WRONGTYPE" | "ERR"),
            Fault::Corrupt { .. } => false,
        }
    }
}
