//! The context of a handler: the core, the client, and the buffer for the reply. The three are
//! separate fields, so a value borrowed from `core` can be written to `out`.

use crate::commands::table::Spec;
use crate::core::Core;
use crate::core::client::{Blocked, Client, OnTimeout};
use crate::data::num;
use crate::doors::out::Out;
use crate::error::{NOT_FLOAT, NOT_INT, NOT_POSITIVE, Outcome, ReplyError};

/// One running command.
pub(crate) struct Ctx<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) client: &'a mut Client,
    /// The client's buffer while the command runs.
    pub(crate) out: &'a mut Out,
    pub(crate) spec: &'static Spec,
}

impl Ctx<'_> {
    /// Waits for one of `keys`, and then runs `argv` again. Inside `EXEC` or a script nothing waits: the
    /// reply of a wait that is over comes at once.
    pub(crate) fn block(
        &mut self,
        keys: &[&[u8]],
        argv: &[&[u8]],
        until_ms: Option<i64>,
        on_timeout: OnTimeout,
    ) -> Outcome {
        if self.core.retrying {
            self.core.still_blocked = true;
            return Ok(());
        }
        if self.client.deny_blocking {
            match on_timeout {
                OnTimeout::NullArray => self.out.null_array(),
                OnTimeout::Null | OnTimeout::Run => self.out.null(),
                OnTimeout::Int(n) => self.out.int(n),
            }
            return Ok(());
        }
        let mut unique: Vec<Box<[u8]>> = Vec::with_capacity(keys.len());
        for key in keys {
            if !unique.iter().any(|known| **known == **key) {
                unique.push(Box::from(*key));
            }
        }
        let db = self.core.db;
        for key in &unique {
            let queue = self.core.dbs[db].waiting.entry(key.clone()).or_default();
            queue.push_back(self.client.id);
        }
        self.client.blocked = Some(Box::new(Blocked {
            argv: argv.iter().map(|arg| Box::from(*arg)).collect(),
            spec: self.spec,
            db,
            keys: unique,
            until_ms,
            on_timeout,
            paused: false,
        }));
        self.core.blocked_clients += 1;
        Ok(())
    }
}

/// An integer argument, or the usual error.
pub(crate) fn int(arg: &[u8]) -> Result<i64, ReplyError> {
    num::parse_i64(arg).ok_or(NOT_INT)
}

/// A count that must not be negative, or the error that says so.
pub(crate) fn positive(arg: &[u8]) -> Result<usize, ReplyError> {
    num::parse_i64(arg).and_then(|n| usize::try_from(n).ok()).ok_or(NOT_POSITIVE)
}

/// A floating-point argument, or the usual error.
pub(crate) fn float(arg: &[u8]) -> Result<f64, ReplyError> {
    num::parse_f64(arg).ok_or(NOT_FLOAT)
}

/// Whether an argument is this word, in any case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}
