//! Exit codes, the same for every verb: 0 done, 1 failure, 2 usage or configuration, 3 not found, 4 conflict,
//! 5 refused, 6 backend unreachable, 130 interrupted.

/// How a verb ends when it does not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The sentence for people.
    pub message: String,
    /// The stable word of a refusal, for programs; without one, the word of the exit code.
    pub word: Option<String>,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl Failure {
            $($(#[$doc])* pub fn $name(message: impl Into<String>) -> Self {
                Failure { code: $code, message: message.into(), word: None }
            })*

            /// The word of an exit code.
            fn word_of(code: u8) -> &'static str {
                match code {
                    $($code => stringify!($name),)*
                    _ => "failed",
                }
            }
        }
    };
}

codes! {
    /// It did not work; also `check` when faults remain.
    failed = 1;
    /// Wrong use or configuration.
    usage = 2;
    /// No such thing.
    not_found = 3;
    /// The state does not allow it.
    conflict = 4;
    /// Not allowed.
    refused = 5;
    /// The store or the server does not answer.
    unreachable = 6;
    /// Stopped by a signal.
    interrupted = 130;
}

impl Failure {
    /// By HTTP status, with the server's sentence.
    pub fn of_status(status: u16, message: impl Into<String>) -> Self {
        let code = match status {
            400 | 405 | 413 | 414 | 415 | 422 => 2,
            401 | 403 => 5,
            404 => 3,
            409 | 410 => 4,
            502..=504 => 6,
            _ => 1,
        };
        Failure { code, message: message.into(), word: None }
    }

    /// Without a sentence: the result that was printed says it all.
    pub fn told(code: u8) -> Self {
        Failure { code, message: String::new(), word: None }
    }

    /// For `--json`, in the server's form of an error.
    pub fn json(&self) -> serde_json::Value {
        let word = self.word.as_deref().unwrap_or(Failure::word_of(self.code));
        serde_json::json!({
            "error": { "code": word, "message": self.message, "exit": self.code }
        })
    }
}

impl From<server::reply::Refusal> for Failure {
    fn from(refusal: server::reply::Refusal) -> Self {
        let word = Some(refusal.def.code.to_owned());
        Failure { word, ..Failure::of_status(refusal.def.status, refusal.message) }
    }
}

impl From<kernel::Fault> for Failure {
    fn from(fault: kernel::Fault) -> Self {
        let code = match fault {
            kernel::Fault::Unavailable(_) | kernel::Fault::Unknown(_) => 6,
            _ => 1,
        };
        Failure { code, message: fault.to_string(), word: None }
    }
}
