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
        /// The directory.
        path: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// The data in the directory cannot be loaded; nothing was changed.
    #[error("cannot load the data in {path}: {reason}; or restore a copy of the directory")]
    Damaged {
        /// The directory.
        path: String,
        /// Which file, and what is wrong with it.
        reason: String,
    },
    /// Nobody answers there.
    #[error("cannot reach Redis at {address}: {reason}; start it or correct the address")]
    Unreachable {
        /// The address, without password.
        address: String,
        /// The operating system's error.
        reason: String,
    },
    /// Somebody answers and cannot serve yet.
    #[error("Redis at {address} is not ready: {reason}; wait for it and start again")]
    NotReady {
        /// The address, without password.
        address: String,
        /// The work that the server must finish first.
        reason: String,
    },
    /// Wrong or missing password.
    #[error(
        "Redis at {address} refused the login: {reason}; check user and password in the URL \
         (redis://user:password@host:port)"
    )]
    Login {
        /// The address, without password.
        address: String,
        /// The server's answer.
        reason: String,
    },
    /// The user may not do what every store needs.
    #[error(
        "Redis at {address} does not let this user work: {reason}; `worldkeep acl` prints the rules"
    )]
    NotAllowed {
        /// The address, without password.
        address: String,
        /// The server's answer.
        reason: String,
    },
    /// No TLS there, or a certificate we do not trust.
    #[error("TLS with {address} failed: {reason}")]
    Tls {
        /// The address, without password.
        address: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// Something else than Redis listens there.
    #[error("{address} is not a Redis: {reason}")]
    NotRedis {
        /// The address, without password.
        address: String,
        /// The answer that came instead, and what to do.
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
pub(crate) enum ConnectError {
    /// Refused, timed out, reset, closed: worth trying again soon.
    Gone(String),
    /// The server is there and not ready: loading, not primary yet.
    NotYet(String),
    Login(String),
    NotAllowed(String),
    Tls(String),
    ProtocolError(String),
}

impl ConnectError {
    /// In words, for `/readyz`.
    pub(crate) fn reason(&self) -> &str {
        match self {
            ConnectError::Gone(text)
            | ConnectError::NotYet(text)
            | ConnectError::Login(text)
            | ConnectError::NotAllowed(text)
            | ConnectError::Tls(text)
            | ConnectError::ProtocolError(text) => text,
        }
    }

    /// Whether waiting may help at start-up.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, ConnectError::Gone(_) | ConnectError::NotYet(_))
    }

    /// The more telling of two: a server that says why it hangs up is not always heard, because the
    /// closing may overtake the words.
    pub(crate) fn or_earlier(self, earlier: Option<ConnectError>) -> ConnectError {
        match (self, earlier) {
            (ConnectError::Gone(_), Some(told @ ConnectError::NotYet(_))) => told,
            (later, _) => later,
        }
    }

    /// As the end of an attempt to open a store at `address`.
    pub(crate) fn at(self, address: &str) -> OpenError {
        let address = address.to_owned();
        match self {
            ConnectError::Gone(reason) => OpenError::Unreachable { address, reason },
            ConnectError::NotYet(reason) => OpenError::NotReady { address, reason },
            ConnectError::Login(reason) => OpenError::Login { address, reason },
            ConnectError::NotAllowed(reason) => OpenError::NotAllowed { address, reason },
            ConnectError::Tls(reason) => OpenError::Tls { address, reason },
            ConnectError::ProtocolError(reason) => OpenError::NotRedis { address, reason },
        }
    }
}

impl From<std::io::Error> for ConnectError {
    fn from(error: std::io::Error) -> Self {
        ConnectError::Gone(plain(&error))
    }
}

/// The system's words without its numbers.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
