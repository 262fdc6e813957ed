//! Why a store could not be opened: one sentence each, with what to do, and the exit code that goes with it.

/// Why a store could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL or an option makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The directory of the embedded engine cannot be used.
    #[error("cannot use the data directory {path}: {reason}")]
    Directory {
        /// Where.
        path: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// What the directory holds cannot be loaded; nothing was changed.
    #[error("cannot load the data in {path}: {reason}; or restore a copy of the directory")]
    Damaged {
        /// Where.
        path: String,
        /// Which file, and what is wrong with it.
        reason: String,
    },
    /// Nobody answers there.
    #[error("cannot reach Redis at {place}: {reason}; start it or correct the address")]
    Unreachable {
        /// Where, without password.
        place: String,
        /// What the system said.
        reason: String,
    },
    /// Somebody answers and cannot serve yet.
    #[error("Redis at {place} is not ready: {reason}; wait for it and start again")]
    NotReady {
        /// Where, without password.
        place: String,
        /// What it waits for.
        reason: String,
    },
    /// Wrong or missing password.
    #[error(
        "Redis at {place} refused the login: {reason}; check user and password in the URL \
         (redis://user:password@host:port)"
    )]
    Login {
        /// Where, without password.
        place: String,
        /// What the server said.
        reason: String,
    },
    /// The user may not do what every store needs.
    #[error(
        "Redis at {place} does not let this user work: {reason}; `worldkeep acl` prints the rules"
    )]
    NotAllowed {
        /// Where, without password.
        place: String,
        /// What the server said.
        reason: String,
    },
    /// No TLS there, or a certificate we do not trust.
    #[error("TLS with {place} failed: {reason}")]
    Tls {
        /// Where, without password.
        place: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Something else than Redis listens there.
    #[error("{place} is not a Redis: {reason}")]
    NotRedis {
        /// Where, without password.
        place: String,
        /// What came instead, and what to do.
        reason: String,
    },
}

impl OpenError {
    /// 1 damaged data, 2 usage or configuration, 5 refused (login, rights), 6 backend unreachable.
    pub fn exit_code(&self) -> u8 {
        match self {
            OpenError::Damaged { .. } => 1,
            OpenError::Usage(_) | OpenError::Directory { .. } => 2,
            OpenError::Login { .. } | OpenError::NotAllowed { .. } => 5,
            OpenError::Unreachable { .. }
            | OpenError::NotReady { .. }
            | OpenError::Tls { .. }
            | OpenError::NotRedis { .. } => 6,
        }
    }
}

/// Why one connection could not be made or was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Refused, timed out, reset, closed: worth trying again soon.
    Gone(String),
    /// The server is there and not ready: loading, not primary yet.
    NotYet(String),
    Login(String),
    NotAllowed(String),
    Tls(String),
    Garbage(String),
}

impl Trouble {
    /// In words, for `/readyz`.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Trouble::Gone(text)
            | Trouble::NotYet(text)
            | Trouble::Login(text)
            | Trouble::NotAllowed(text)
            | Trouble::Tls(text)
            | Trouble::Garbage(text) => text,
        }
    }

    /// Whether waiting may help at start-up.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Trouble::Gone(_) | Trouble::NotYet(_))
    }

    /// The more telling of two: a server that says why it hangs up is not always heard, because the
    /// closing may overtake the words.
    pub(crate) fn or_earlier(self, earlier: Option<Trouble>) -> Trouble {
        match (self, earlier) {
            (Trouble::Gone(_), Some(told @ Trouble::NotYet(_))) => told,
            (later, _) => later,
        }
    }

    /// As the end of an attempt to open a store at `place`.
    pub(crate) fn at(self, place: &str) -> OpenError {
        let place = place.to_owned();
        match self {
            Trouble::Gone(reason) => OpenError::Unreachable { place, reason },
            Trouble::NotYet(reason) => OpenError::NotReady { place, reason },
            Trouble::Login(reason) => OpenError::Login { place, reason },
            Trouble::NotAllowed(reason) => OpenError::NotAllowed { place, reason },
            Trouble::Tls(reason) => OpenError::Tls { place, reason },
            Trouble::Garbage(reason) => OpenError::NotRedis { place, reason },
        }
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Trouble::Gone(plain(&error))
    }
}

/// The system's words without its numbers.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
