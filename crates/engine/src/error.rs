//! Error replies, with the texts of Redis 7.0.15.

use std::borrow::Cow;

/// An error reply of a command. The text starts with its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplyError(pub(crate) Cow<'static, [u8]>);

/// The result of a handler: its reply is in `out`, or this error takes its place.
pub(crate) type Outcome = Result<(), ReplyError>;

impl ReplyError {
    pub(crate) const fn fixed(text: &'static str) -> Self {
        ReplyError(Cow::Borrowed(text.as_bytes()))
    }

    pub(crate) fn new(text: impl Into<String>) -> Self {
        ReplyError(Cow::Owned(text.into().into_bytes()))
    }

    /// `ERR wrong number of arguments for 'get' command`.
    pub(crate) fn arity(full_name: &str) -> Self {
        Self::new(format!("ERR wrong number of arguments for '{full_name}' command"))
    }

    /// `ERR unknown subcommand or wrong number of arguments for 'x'. Try CLIENT HELP.`
    pub(crate) fn wrong_sub_args(command: &str, sub: &[u8]) -> Self {
        let sub = String::from_utf8_lossy(&sub[..sub.len().min(128)]).into_owned();
        Self::new(format!(
            "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try {command} HELP."
        ))
    }

    /// `ERR unknown subcommand 'x'. Try CLIENT HELP.`
    pub(crate) fn unknown_sub(command: &str, sub: &[u8]) -> Self {
        let sub = String::from_utf8_lossy(&sub[..sub.len().min(128)]).into_owned();
        Self::new(format!("ERR unknown subcommand '{sub}'. Try {} HELP.", command.to_uppercase()))
    }
}

pub(crate) const WRONG_TYPE: ReplyError =
    ReplyError::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
pub(crate) const SYNTAX: ReplyError = ReplyError::fixed("ERR syntax error");
pub(crate) const NOT_INT: ReplyError =
    ReplyError::fixed("ERR value is not an integer or out of range");
pub(crate) const NOT_FLOAT: ReplyError = ReplyError::fixed("ERR value is not a valid float");
pub(crate) const NOT_POSITIVE: ReplyError =
    ReplyError::fixed("ERR value is out of range, must be positive");
pub(crate) const OUT_OF_RANGE: ReplyError = ReplyError::fixed("ERR index out of range");
pub(crate) const OUT_OF_RANGE_VALUE: ReplyError = ReplyError::fixed("ERR value is out of range");
pub(crate) const NO_SUCH_KEY: ReplyError = ReplyError::fixed("ERR no such key");
