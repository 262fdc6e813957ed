//! Users and what they may do. A [`User`] never changes: `ACL SETUSER` builds a new one and hands it to the
//! clients that are logged in as it. A call is allowed when one of the user's selectors allows all of it.

mod describe;
mod log;
pub(crate) mod logins;
mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::commands::getkeys::{KeyRef, Keys};
use crate::commands::table::{Spec, TABLE, flag};
use crate::data::glob;
use crate::error::ReplyError;

pub(crate) use log::{AclLog, AclLogEntry};
pub(crate) use rules::{has_spaces, hash_password, merge_selectors};

/// Categories of commands, in the order of `ACL CAT`.
pub(crate) const CATEGORIES: &[&str] = &[
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// A user of `ACL SETUSER`.
#[derive(Debug, Clone)]
pub(crate) struct User {
    pub(crate) name: Vec<u8>,
    pub(crate) enabled: bool,
    pub(crate) nopass: bool,
    /// `sanitize-payload` or `skip-sanitize-payload`, once one was said.
    pub(crate) sanitize: Option<bool>,
    /// SHA-256 of each password, in hexadecimal.
    pub(crate) passwords: Vec<String>,
    /// The first is the user's own; the others were given in parentheses.
    pub(crate) selectors: Vec<Selector>,
    /// `+@all ~* &*`: nothing to check.
    pub(crate) unrestricted: bool,
}

/// A set of commands with the keys and channels they may name.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    pub(crate) all_keys: bool,
    pub(crate) all_channels: bool,
    pub(crate) all_commands: bool,
    /// Began with `+@all`: commands are taken away, not added.
    pub(crate) future: bool,
    /// By place in the command table.
    pub(crate) commands: Vec<bool>,
    /// `+select|0`: first arguments allowed for a command that is not.
    pub(crate) first_args: BTreeMap<usize, Vec<String>>,
    pub(crate) keys: Vec<KeyPattern>,
    pub(crate) channels: Vec<Box<[u8]>>,
}

/// Keys that may be read, written or both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyPattern {
    pub(crate) pattern: Box<[u8]>,
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// Why a call is refused. The order is that of relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Denial {
    Command,
    /// The argument with the key.
    Key(usize),
    /// The argument with the channel.
    Channel(usize),
}

impl Denial {
    /// The error reply.
    pub(crate) fn error(self, spec: &Spec) -> ReplyError {
        match self {
            Denial::Command => ReplyError::new(format!(
                "NOPERM this user has no permissions to run the '{}' command",
                spec.full_name
            )),
            Denial::Key(_) => ReplyError::fixed(
                "NOPERM this user has no permissions to access one of the keys used as arguments",
            ),
            Denial::Channel(_) => ReplyError::fixed(
                "NOPERM this user has no permissions to access one of the channels used as arguments",
            ),
        }
    }

    /// The reason and the object of the refusal, as `ACL LOG` shows them.
    fn object<'a>(
        self,
        spec: &Spec,
        argv: &[&'a [u8]],
    ) -> (&'static str, std::borrow::Cow<'a, [u8]>) {
        match self {
            Denial::Command => ("command", spec.full_name.as_bytes().to_vec().into()),
            Denial::Key(at) => ("key", argv[at].into()),
            Denial::Channel(at) => ("channel", argv[at].into()),
        }
    }
}

impl Selector {
    fn none() -> Self {
        Selector {
            all_keys: false,
            all_channels: false,
            all_commands: false,
            future: false,
            commands: vec![false; TABLE.specs.len()],
            first_args: BTreeMap::new(),
            keys: Vec::new(),
            channels: Vec::new(),
        }
    }

    fn denies(
        &self,
        spec: &'static Spec,
        argv: &[&[u8]],
        keys: &mut Option<Keys>,
    ) -> Option<Denial> {
        if !self.all_commands && !spec.has(flag::NO_AUTH) && !self.may_run(spec, argv) {
            return Some(Denial::Command);
        }
        if !self.all_keys && spec.has_keys() {
            let keys = keys.get_or_insert_with(|| spec.keys_of(argv));
            let bad = keys.iter().find(|key| !self.may_use(argv[key.at], key));
            if let Some(key) = bad {
                return Some(Denial::Key(key.at));
            }
        }
        if !self.all_channels {
            let (args, pattern) = channel_args(spec, argv);
            for at in args {
                if !self.may_hear(argv[at], pattern) {
                    return Some(Denial::Channel(at));
                }
            }
        }
        None
    }

    fn may_run(&self, spec: &Spec, argv: &[&[u8]]) -> bool {
        if self.commands[spec.id] {
            return true;
        }
        let Some(allowed) = self.first_args.get(&spec.id) else { return false };
        let first = argv.get(if spec.parent.is_some() { 2 } else { 1 });
        first
            .is_some_and(|arg| allowed.iter().any(|word| arg.eq_ignore_ascii_case(word.as_bytes())))
    }

    fn may_use(&self, key: &[u8], how: &KeyRef) -> bool {
        let (reads, writes) = (how.reads(), how.writes());
        self.keys.iter().any(|allowed| {
            (allowed.read || !reads)
                && (allowed.write || !writes)
                && glob::matches(&allowed.pattern, key, false)
        })
    }

    fn may_hear(&self, channel: &[u8], pattern: bool) -> bool {
        self.all_channels || allowed_channel(&self.channels, channel, pattern)
    }
}

/// A pattern to subscribe to must itself be in the list; a channel must match an entry.
fn allowed_channel(list: &[Box<[u8]>], channel: &[u8], pattern: bool) -> bool {
    list.iter().any(|allowed| {
        if pattern { **allowed == *channel } else { glob::matches(allowed, channel, false) }
    })
}

/// The arguments that name channels, and whether they are patterns.
fn channel_args(spec: &Spec, argv: &[&[u8]]) -> (std::ops::Range<usize>, bool) {
    match spec.full_name {
        "publish" | "spublish" => (1..argv.len().min(2), false),
        "subscribe" | "ssubscribe" => (1..argv.len(), false),
        "psubscribe" => (1..argv.len(), true),
        _ => (0..0, false),
    }
}

impl User {
    /// A user who may do nothing and cannot log in.
    pub(crate) fn new(name: &[u8], all_channels: bool) -> Self {
        let root = Selector { all_channels, ..Selector::none() };
        User {
            name: name.to_vec(),
            enabled: false,
            nopass: false,
            sanitize: None,
            passwords: Vec::new(),
            selectors: vec![root],
            unrestricted: false,
        }
    }

    /// The default user, who may do everything without a password.
    pub(crate) fn unrestricted() -> Arc<Self> {
        let mut user = User::new(b"default", true);
        for rule in ["on", "nopass", "~*", "+@all"] {
            user.apply(rule.as_bytes(), false).expect("a rule in the code is right");
        }
        user.settle();
        Arc::new(user)
    }

    /// After its rules changed.
    pub(crate) fn settle(&mut self) {
        self.unrestricted =
            self.selectors.iter().any(|s| s.all_keys && s.all_channels && s.all_commands);
    }

    pub(crate) fn needs_no_password(&self) -> bool {
        self.nopass && self.enabled
    }

    /// Why a call may not be made, if so.
    pub(crate) fn denies(&self, spec: &'static Spec, argv: &[&[u8]]) -> Option<Denial> {
        if self.unrestricted {
            return None;
        }
        let mut keys = None;
        let mut worst = Denial::Command;
        for selector in &self.selectors {
            let denial = selector.denies(spec, argv, &mut keys)?;
            worst = worst.max(denial);
        }
        Some(worst)
    }

    /// Whether a call may also read keys that it does not name.
    pub(crate) fn may_read_any(&self, spec: &'static Spec, argv: &[&[u8]]) -> bool {
        let reads_all = |selector: &Selector| {
            selector.all_keys || selector.keys.iter().any(|key| key.read && *key.pattern == *b"*")
        };
        self.unrestricted
            || self
                .selectors
                .iter()
                .any(|it| reads_all(it) && it.denies(spec, argv, &mut None).is_none())
    }

    /// Whether the password is one of the user's. Takes the same time for a wrong one.
    pub(crate) fn accepts(&self, password: &[u8]) -> bool {
        if !self.enabled {
            return false;
        }
        if self.nopass {
            return true;
        }
        let given = hash_password(password);
        let mut found = 0;
        for known in &self.passwords {
            let differ = known.bytes().zip(given.bytes()).fold(0, |acc, (a, b)| acc | (a ^ b));
            found |= u8::from(differ == 0 && known.len() == given.len());
        }
        found == 1
    }

    /// Whether a client subscribed to this may stay, given the user's channels.
    pub(crate) fn may_hear(&self, channel: &[u8], pattern: bool) -> bool {
        self.selectors.iter().any(|s| s.may_hear(channel, pattern))
    }
}

/// All users by name.
#[derive(Debug)]
pub(crate) struct Users {
    by_name: BTreeMap<Vec<u8>, Arc<User>>,
    /// Not by name: nobody can log in as it, and no command changes it.
    owner: Arc<User>,
}

impl Default for Users {
    fn default() -> Self {
        let by_name = BTreeMap::from([(b"default".to_vec(), User::unrestricted())]);
        Users { by_name, owner: User::unrestricted() }
    }
}

impl Users {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Arc<User>> {
        self.by_name.get(name)
    }

    /// The user of a connection that has not logged in.
    pub(crate) fn default_user(&self) -> &Arc<User> {
        self.by_name.get(b"default".as_slice()).expect("the default user cannot be removed")
    }

    /// The user of the program around the engine.
    pub(crate) fn owner(&self) -> &Arc<User> {
        &self.owner
    }

    pub(crate) fn put(&mut self, user: Arc<User>) {
        self.by_name.insert(user.name.clone(), user);
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<Arc<User>> {
        self.by_name.remove(name)
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<User>> {
        self.by_name.values()
    }
}
