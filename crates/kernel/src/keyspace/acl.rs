//! Who touches keys, as data for Redis ACL rules.

/// A service that touches keys under a Redis user of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Role {
    /// The Redis user.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// It may read every key of the server (snapshots).
    pub reads_all: bool,
    /// It may `SCAN`, which key patterns do not filter.
    pub scans: bool,
    /// It has the rights of these roles together.
    pub acts_as: &'static [&'static str],
}

impl Role {
    /// What a declaration need not say.
    pub const BASE: Role =
        Role { name: "", about: "", reads_all: false, scans: false, acts_as: &[] };
}
