//! Refusals as data. A module declares each once: a stable code, a kind, and the sentence that says when it is
//! answered and what to do. The server has statuses and bodies from the kind, `docs/errors.md` is a loop over the
//! tables, and a page words a refusal in its own language by the code and the named parameters.

use serde_json::{Map, Value};

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The request cannot be taken as it was sent.
    Invalid,
    /// Nobody knows who asks.
    Unauthorized,
    /// Whoever asks may not.
    Forbidden,
    /// It does not exist.
    Missing,
    /// The state does not allow it now.
    Conflict,
    /// It existed and has ended.
    Gone,
    /// Too often, or too much at once: later it may go.
    TooMany,
    /// It did not work this time: at once repeated it may.
    Busy,
    /// It cannot be done as the server is set up.
    Unavailable,
    /// A stored value is not as it should be.
    Broken,
}

/// One refusal as it is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusalDef {
    /// Stable word or number; clients compare it.
    pub code: &'static str,
    /// The kind of the refusal.
    pub kind: RefusalKind,
    /// One sentence: lower case, no full stop, when it is answered and what to do.
    pub says: &'static str,
}

/// The named parameters of a refusal.
pub type Params = Map<String, Value>;

/// An error of a module. Its `Display` is the sentence with the parameters in place.
pub trait Refuses: std::error::Error {
    /// Which refusal it is; `None` for a fault below the module.
    fn def(&self) -> Option<RefusalDef>;

    /// The field of the request that is to blame.
    fn field(&self) -> Option<&str> {
        None
    }

    /// The values that the sentence names, for programs.
    fn params(&self) -> Params {
        Params::new()
    }
}

/// Declares the refusals of a module: a constant for each, and `REFUSALS` of all.
///
/// ```
/// worldkeep_kernel::refusals! {
///     NO_MONSTER = "monster_not_found", Missing, "this tenant has no such monster";
/// }
/// assert_eq!(REFUSALS, [NO_MONSTER]);
/// ```
#[macro_export]
macro_rules! refusals {
    ($($name:ident = $code:literal, $kind:ident, $says:literal;)*) => {
        $(#[doc = $says] pub const $name: $crate::RefusalDef = $crate::RefusalDef {
            code: $code,
            kind: $crate::RefusalKind::$kind,
            says: $says,
        };)*
        /// The refusals of this module.
        pub const REFUSALS: &[$crate::RefusalDef] = &[$($name),*];
    };
}

/// The named parameters of a refusal, by expression: `params! { "jobId" => id }`.
#[macro_export]
macro_rules! params {
    ($($name:literal => $value:expr),* $(,)?) => {
        $crate::Params::from_iter([$(($name.to_owned(), $value.clone().into())),*])
    };
}
