//! Users and what they may do.

use std::sync::Arc;

use crate::command::Spec;
use crate::error::Outcome;

/// A user of `ACL SETUSER`.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: Vec<u8>,
    pub(crate) nopass: bool,
    /// `+@all ~* &*`: nothing to check.
    pub(crate) unrestricted: bool,
}

impl User {
    /// The default user, who may do everything without a password.
    pub(crate) fn unrestricted() -> Arc<Self> {
        Arc::new(User { name: b"default".to_vec(), nopass: true, unrestricted: true })
    }

    pub(crate) fn needs_no_password(&self) -> bool {
        self.nopass
    }

    /// Refuses a call that the user may not make.
    pub(crate) fn check(&self, _spec: &Spec, _argv: &[&[u8]]) -> Outcome {
        Ok(())
    }
}
