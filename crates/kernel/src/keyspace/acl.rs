//! Redis ACL rules from the tables: one user per role of a module, one per module, one for the server and one
//! that only looks. Key patterns say who may read and write; commands follow from the types touched, so a
//! command that a role has for its own keys does nothing on those it may only read.

use std::collections::BTreeSet;

use super::{BadId, KeyDef, Kind, Layout, Secrecy, Table, Type, own, scan_glob};

/// A service that touches keys under a Redis user of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Role {
    /// The Redis user.
    pub name: &'static str,
    /// The work of the role, in a sentence.
    pub about: &'static str,
    /// It may read every key of the server (snapshots).
    pub reads_all: bool,
    /// It may `SCAN`, which key patterns do not filter.
    pub scans: bool,
    /// It has the rights of these roles together.
    pub acts_as: &'static [&'static str],
    /// It runs a server of ours, which has keys of its own beside those of the module.
    pub serves: bool,
}

impl Role {
    /// The defaults of a declaration.
    pub const BASE: Role =
        Role { name: "", about: "", reads_all: false, scans: false, acts_as: &[], serves: false };
}

/// How strictly ownership is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Only owners write.
    #[default]
    Strict,
    /// Roles that write single fields elsewhere may write to those hashes (ACL knows no fields).
    Compat,
}

/// A Redis user and its rules.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Acl {
    /// The user's name.
    pub user: String,
    /// The purpose of the user, in a sentence.
    pub about: String,
    /// The words of `ACL SETUSER` after name, state and password. None holds a space, but selectors do.
    pub rules: Vec<String>,
}

impl Acl {
    /// The words of the command, with that password.
    pub fn setuser(&self, password: &str) -> Vec<String> {
        let mut words: Vec<String> =
            ["ACL", "SETUSER", &self.user, "reset", "on"].into_iter().map(str::to_owned).collect();
        words.push(format!(">{password}"));
        words.extend(self.rules.iter().cloned());
        words
    }

    /// A line of an ACL file; `password` is put as it is, so that a placeholder can be filled in later.
    pub fn line(&self, password: &str) -> String {
        format!("user {} on >{password} {}", self.user, self.rules.join(" "))
    }
}

/// Needed by everybody; none of it touches a key that has no pattern.
const ALWAYS: &[&str] =
    &["+@connection", "+@transaction", "+time", "+exists", "+type", "+ttl", "+pttl"];
/// Needed by those who write.
const WRITING: &[&str] = &[
    "+del",
    "+unlink",
    "+expire",
    "+pexpire",
    "+expireat",
    "+pexpireat",
    "+persist",
    "+eval",
    "+evalsha",
    "+script|load",
    "+script|exists",
];
/// The commands by which the server asks about its store, at start and on its pages, and makes backups.
const LOOKING: &[&str] = &[
    "+info",
    "+config|get",
    "+dbsize",
    "+dump",
    "+pexpiretime",
    "+memory|usage",
    "+object|encoding",
    "+role",
    "+wait",
    "+cluster|slots",
    "+cluster|shards",
    "+cluster|nodes",
    "+cluster|info",
    "+readonly",
];
/// The question that only the server's own user may ask.
const SETTINGS: &str = "+config|get";

/// The users for these tables. `namespaces` are the job namespaces as configured.
pub fn acl(
    tables: &[&Table],
    layout: Layout,
    namespaces: &[impl AsRef<str>],
    profile: Profile,
) -> Result<Vec<Acl>, BadId> {
    let namespaces: Vec<&str> = namespaces.iter().map(AsRef::as_ref).collect();
    for namespace in &namespaces {
        Kind::Namespace.check(namespace).map_err(|flaw| BadId {
            key: "acl",
            field: "namespace",
            flaw,
        })?;
    }
    let mut users = Vec::new();
    for table in tables.iter().filter(|table| table.module != own::TABLE.module) {
        if table.roles.is_empty() {
            users.push(module_user(table, layout, &namespaces)?);
        }
        for role in table.roles {
            users.push(role_user(table, *role, layout, &namespaces, profile)?);
        }
    }
    users.push(server_user(tables, layout, &namespaces)?);
    users.push(reading_user(tables, layout, &namespaces)?);
    Ok(users)
}

/// Collects what a user may touch, then spells it.
#[derive(Default)]
struct Rights {
    read: BTreeSet<String>,
    write: BTreeSet<String>,
    channels: BTreeSet<String>,
    publishes: bool,
    listens: bool,
    types: BTreeSet<&'static str>,
}

impl Rights {
    fn add(
        &mut self,
        def: &KeyDef,
        writes: bool,
        layout: Layout,
        namespaces: &[&str],
    ) -> Result<(), BadId> {
        for glob in globs(def, layout, namespaces)? {
            match (def.type_, writes) {
                (Type::Channel, _) => {
                    self.channels.insert(format!("&{glob}"));
                    self.publishes |= writes;
                    self.listens |= !writes;
                }
                (_, true) => {
                    self.write.insert(glob);
                }
                (_, false) => {
                    self.read.insert(glob);
                }
            }
        }
        self.types.extend(category(def.type_));
        Ok(())
    }

    fn rules(self, reads_all: bool, scans: bool, more: &[&str]) -> Vec<String> {
        let mut rules: Vec<String> = vec!["resetchannels".to_owned()];
        rules.extend(self.channels);
        rules.push("-@all".to_owned());
        let mut commands = ALWAYS.to_vec();
        commands.extend(self.types);
        if reads_all {
            commands.push("+@read");
        }
        // Categories bring `KEYS` and `CLIENT KILL` along.
        commands.push("-@dangerous");
        if !self.write.is_empty() {
            commands.extend(WRITING);
        }
        if self.publishes {
            commands.push("+publish");
        }
        if self.listens {
            commands.extend(["+subscribe", "+unsubscribe", "+psubscribe", "+punsubscribe"]);
        }
        if scans {
            commands.push("+scan");
        }
        commands.extend(more);
        rules.extend(commands.into_iter().map(str::to_owned));
        if reads_all {
            rules.push("%R~*".to_owned());
        }
        rules.extend(self.write.iter().map(|glob| format!("~{glob}")));
        if !reads_all {
            let read = self.read.difference(&self.write);
            rules.extend(read.map(|glob| format!("%R~{glob}")));
        }
        rules
    }
}

/// The user of a module that is one service.
fn module_user(table: &Table, layout: Layout, namespaces: &[&str]) -> Result<Acl, BadId> {
    let mut rights = Rights::default();
    for def in table.keys {
        rights.add(def, true, layout, namespaces)?;
        if def.type_ == Type::Channel {
            rights.add(def, false, layout, namespaces)?;
        }
    }
    Ok(Acl {
        user: table.module.to_owned(),
        about: format!("The {} service: {}", table.module, table.about),
        rules: rights.rules(false, true, &[]),
    })
}

/// The user of a role; one that runs a server also has the server's own keys, and asks about its store.
fn role_user(
    table: &Table,
    role: Role,
    layout: Layout,
    namespaces: &[&str],
    profile: Profile,
) -> Result<Acl, BadId> {
    let one = [role.name];
    let names = if role.acts_as.is_empty() { &one[..] } else { role.acts_as };
    let mut rights = Rights::default();
    let mut selectors = Vec::new();
    for def in table.keys {
        let among = |roles: &[&str]| roles.iter().any(|role| names.contains(role));
        if among(def.writers()) {
            rights.add(def, true, layout, namespaces)?;
            // A server hears its own words too: it may be one of several.
            if role.serves && def.type_ == Type::Channel {
                rights.add(def, false, layout, namespaces)?;
            }
        } else if among(def.readers) {
            rights.add(def, false, layout, namespaces)?;
        } else if role.reads_all && def.is_key() {
            rights.types.extend(category(def.type_));
        }
        let partly = def.partly.iter().any(|(role, _)| names.contains(role));
        if profile == Profile::Compat && partly {
            for glob in globs(def, layout, namespaces)? {
                selectors.push(format!("(-@all +hset %W~{glob})"));
            }
        }
    }
    for def in own::TABLE.keys.iter().filter(|_| role.serves) {
        rights.add(def, true, layout, namespaces)?;
    }
    let asks: Vec<&str> = LOOKING.iter().copied().filter(|asks| *asks != SETTINGS).collect();
    let more = if role.serves { &asks[..] } else { &[] };
    let mut rules = rights.rules(role.reads_all, role.scans, more);
    rules.extend(selectors);
    Ok(Acl { user: role.name.to_owned(), about: role.about.to_owned(), rules })
}

/// The user of `worldkeep serve`: every key of every module.
fn server_user(tables: &[&Table], layout: Layout, namespaces: &[&str]) -> Result<Acl, BadId> {
    let mut rights = Rights::default();
    for def in tables.iter().flat_map(|table| table.keys) {
        rights.add(def, true, layout, namespaces)?;
        if def.type_ == Type::Channel {
            rights.add(def, false, layout, namespaces)?;
        }
    }
    Ok(Acl {
        user: "worldkeep".to_owned(),
        about: "The server itself, with all modules.".to_owned(),
        rules: rights.rules(false, true, LOOKING),
    })
}

/// The user that only looks, and not at secrets or payloads.
fn reading_user(tables: &[&Table], layout: Layout, namespaces: &[&str]) -> Result<Acl, BadId> {
    let mut rights = Rights::default();
    let shown = |def: &&&KeyDef| def.secrecy == Secrecy::Open;
    for def in tables.iter().flat_map(|table| table.keys).filter(shown) {
        rights.add(def, false, layout, namespaces)?;
    }
    // The category `@read` holds the reading commands alone; the categories by type would bring the
    // writing ones along.
    rights.types = BTreeSet::from(["+@read"]);
    Ok(Acl {
        user: "readonly".to_owned(),
        about: "Looks at everything but secrets and payloads.".to_owned(),
        rules: rights.rules(false, true, &["+info"]),
    })
}

/// The commands for a type, as a category.
fn category(type_: Type) -> Option<&'static str> {
    match type_ {
        Type::String | Type::Json | Type::Int => Some("+@string"),
        Type::Hash => Some("+@hash"),
        Type::List => Some("+@list"),
        Type::Set => Some("+@set"),
        Type::Zset => Some("+@sortedset"),
        Type::Stream => Some("+@stream"),
        Type::Channel => None,
    }
}

/// Every pattern of a definition: one, or one per namespace.
fn globs(def: &KeyDef, layout: Layout, namespaces: &[&str]) -> Result<Vec<String>, BadId> {
    match def.params.iter().find(|param| param.kind == Kind::Namespace) {
        None => Ok(vec![scan_glob(def, layout, &[])?]),
        Some(param) => {
            namespaces.iter().map(|ns| scan_glob(def, layout, &[(param.name, ns)])).collect()
        }
    }
}
