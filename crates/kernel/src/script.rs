//! Lua scripts as files: one each, with a header that a test reads and holds against body, tables and slots.
//! Parts that several scripts share have names: `--- @include "close_job"` stands for the part's text.

mod include;

use std::fmt::Write as _;
use std::sync::OnceLock;

/// A named part of scripts: its name and its text.
pub type Part = (&'static str, &'static str);

/// A Lua script, known by name and run by SHA. Made once per file as a `static`, by [`crate::scripts!`].
#[derive(Debug)]
pub struct Script {
    name: &'static str,
    /// As it stands in its file.
    text: &'static str,
    parts: &'static [Part],
    /// The text with its parts in place, and its SHA.
    whole: OnceLock<(String, String)>,
}

impl Script {
    /// `name` is the file's stem; `text` its whole text.
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Script::with(name, text, &[])
    }

    /// A script with parts beside those of the kernel, which every script may name.
    pub const fn with(name: &'static str, text: &'static str, parts: &'static [Part]) -> Self {
        Script { name, text, parts, whole: OnceLock::new() }
    }

    /// The file's stem.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The whole text, with its parts in place.
    pub fn source(&self) -> &str {
        &self.whole().0
    }

    /// Lower-case SHA-1 of the whole text, as `EVALSHA` wants it.
    pub fn sha(&self) -> &str {
        &self.whole().1
    }

    fn whole(&self) -> &(String, String) {
        self.whole.get_or_init(|| {
            let source = include::expand(self.text, self.parts);
            let sha = sha1_hex(source.as_bytes());
            (source, sha)
        })
    }
}

/// The SHA-1 of a text in lower-case hex, as `redis.sha1hex` gives it.
pub fn sha1_hex(text: &[u8]) -> String {
    use sha1::Digest as _;
    let digest = sha1::Sha1::digest(text);
    digest.iter().fold(String::with_capacity(40), |mut sha, byte| {
        let _ = write!(sha, "{byte:02x}");
        sha
    })
}

/// Declares the scripts of a module: a `static` for each file of `../scripts/`, `SCRIPTS` of all, and the test that
/// holds their headers to their bodies. `parts` names the files of `../scripts/includes/`.
///
/// ```ignore
/// kernel::scripts! {
///     parts: ["close_job"];
///     /// Ends a job.
///     pub(crate) CANCEL = "cancel";
/// }
/// ```
#[macro_export]
#[allow(clippy::crate_in_macro_def)] // the table is the module's
macro_rules! scripts {
    (parts: [$($part:literal),* $(,)?]; $($rest:tt)*) => {
        const PARTS: &[$crate::Part] =
            &[$(($part, include_str!(concat!("../scripts/includes/", $part, ".lua")))),*];
        $crate::scripts! { @with PARTS; $($rest)* }
    };
    (@with $parts:expr; $($(#[$about:meta])* $seen:vis $name:ident = $file:literal;)*) => {
        $($(#[$about])* $seen static $name: $crate::Script =
            $crate::Script::with($file, include_str!(concat!("../scripts/", $file, ".lua")), $parts);)*

        /// All of them.
        #[allow(dead_code, unreachable_pub)] // a module may keep them to itself
        pub const SCRIPTS: &[&$crate::Script] = &[$(&$name),*];

        #[cfg(test)]
        mod headers {
            testkit::scripts_keep_their_headers!(super::SCRIPTS, &[&crate::keys::TABLE]);
        }
    };
    ($($all:tt)*) => { $crate::scripts! { @with &[]; $($all)* } };
}
