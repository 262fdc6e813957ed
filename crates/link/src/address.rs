//! The address of a store, read from a URL: `memory`, a directory, or `redis://`, `rediss://`,
//! `unix://`, `redis+sentinel://`, `redis+cluster://`. A password goes in and is never shown again.

use std::fmt;
use std::path::PathBuf;

use crate::OpenError;

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The address of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// The engine in this process, nothing on disk.
    Memory,
    /// The engine in this process, durable in a directory.
    Directory(PathBuf),
    /// Servers reached by a socket.
    Servers(Servers),
}

/// Servers reached by a socket, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Servers {
    /// One server, Sentinels, or nodes of a Cluster.
    pub role: Deployment,
    /// The addresses named in the URL.
    pub addresses: Vec<Endpoint>,
    /// Login and database on the data servers.
    pub access: Access,
}

/// The role of the named addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deployment {
    /// The server itself (or one node of a Cluster: that is found out).
    Server,
    /// Sentinels that know the primary called `primary`.
    Sentinel {
        /// The name Sentinel has for it, such as `mymaster`.
        primary: String,
        /// Login on the Sentinels themselves.
        login: Login,
    },
    /// Nodes of a Cluster.
    Cluster,
}

/// One end of a socket.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// Host and port.
    Tcp(String, u16),
    /// A Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Endpoint::Tcp(host, port) => write!(f, "{host}:{port}"),
            Endpoint::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// User and password. Prints neither the one nor the other.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Login {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.password.is_some() { "Login(hidden)" } else { "Login(none)" })
    }
}

/// Login, database and TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// User and password.
    pub login: Login,
    /// `SELECT`ed on every connection.
    pub db: u32,
    /// TLS, when the scheme says so.
    pub tls: Option<Tls>,
}

/// How the other end is verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// Trust this file's authorities instead of the system's.
    pub authorities: Option<PathBuf>,
    /// `?insecure=true`: encrypt, but believe whoever answers.
    pub insecure: bool,
}

impl Address {
    /// Reads `memory`, `embedded:DIR` or a URL.
    pub fn parse(text: &str) -> Result<Address, OpenError> {
        if text == "memory" || text == "embedded:memory" {
            return Ok(Address::Memory);
        }
        if let Some(dir) = text.strip_prefix("embedded:") {
            let dir = dir.strip_prefix("//").unwrap_or(dir);
            return if dir.is_empty() {
                Err(usage("embedded: wants a directory, such as embedded:./data"))
            } else {
                Ok(Address::Directory(dir.into()))
            };
        }
        parse_url(text).map(Address::Servers)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Memory => f.write_str("memory"),
            Address::Directory(dir) => write!(f, "{}", dir.display()),
            Address::Servers(servers) => servers.fmt(f),
        }
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.addresses.iter().map(ToString::to_string).collect();
        let all = all.join(",");
        let s = if self.access.tls.is_some() { "s" } else { "" };
        match &self.role {
            Deployment::Server if matches!(self.addresses[0], Endpoint::Unix(_)) => {
                write!(f, "unix://{all}")
            }
            Deployment::Server => write!(f, "redis{s}://{all}"),
            Deployment::Sentinel { primary, .. } => {
                write!(f, "redis{s}+sentinel://{all}/{primary}")
            }
            Deployment::Cluster => write!(f, "redis{s}+cluster://{all}"),
        }?;
        if self.access.db == 0 { Ok(()) } else { write!(f, " db {}", self.access.db) }
    }
}

fn usage(sentence: impl Into<String>) -> OpenError {
    OpenError::Usage(sentence.into())
}

// The messages never repeat the URL: it may hold a password.
fn parse_url(text: &str) -> Result<Servers, OpenError> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(usage(
            "a store is named by a URL: redis://host:port, rediss://, unix:///path, \
             redis+sentinel://host:port/name or redis+cluster://host:port",
        ));
    };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    if rest.contains('#') || query.contains('#') {
        return Err(usage("a URL of a store has no # part: write # in a password as %23"));
    }
    let query = Query::parse(query)?;
    let (before, rest) = match rest.rsplit_once('@') {
        Some((login, rest)) => (Some(login), rest),
        None => (None, rest),
    };
    let login = before.map(read_login).transpose()?.unwrap_or_default();
    let (kind, tls) = match scheme {
        "redis" | "valkey" => ("server", false),
        "rediss" | "valkeys" => ("server", true),
        "unix" | "redis+unix" | "valkey+unix" => ("unix", false),
        "redis+sentinel" | "valkey+sentinel" => ("sentinel", false),
        "rediss+sentinel" | "valkeys+sentinel" => ("sentinel", true),
        "redis+cluster" | "valkey+cluster" => ("cluster", false),
        "rediss+cluster" | "valkeys+cluster" => ("cluster", true),
        other => {
            return Err(usage(format!(
                "{other}:// is no kind of store: use redis, rediss, unix, redis+sentinel or \
                 redis+cluster"
            )));
        }
    };
    if !tls && (query.authorities.is_some() || query.insecure) {
        return Err(usage("ca= and insecure= are about TLS: write rediss://"));
    }
    let tls = tls.then_some(Tls { authorities: query.authorities, insecure: query.insecure });
    let mut access = Access { login, db: query.db.unwrap_or(0), tls };
    if kind == "unix" {
        if rest.is_empty() {
            return Err(usage(
                "unix:// wants the path of a socket, such as unix:///run/redis.sock",
            ));
        }
        let addresses = vec![Endpoint::Unix(unescape(rest)?.into())];
        return Ok(Servers { role: Deployment::Server, addresses, access });
    }
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    let port = if kind == "sentinel" { SENTINEL_PORT } else { PORT };
    let addresses =
        hosts.split(',').map(|host| address(host, port)).collect::<Result<Vec<_>, _>>()?;
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let role = match kind {
        "server" if addresses.len() > 1 => {
            return Err(usage(
                "redis:// names one server: for several use redis+sentinel:// or redis+cluster://",
            ));
        }
        "server" => Deployment::Server,
        "sentinel" => {
            let Some(primary) = parts.next() else {
                return Err(usage(
                    "a Sentinel URL ends with the primary's name: redis+sentinel://host:26379/mymaster",
                ));
            };
            Deployment::Sentinel { primary: unescape(primary)?, login: query.sentinel }
        }
        _ => Deployment::Cluster,
    };
    if let Some(db) = parts.next() {
        access.db = number(db)?;
    }
    if parts.next().is_some() {
        return Err(usage("there is more after the database number in the URL than it can mean"));
    }
    if access.db != 0 && role == Deployment::Cluster {
        return Err(usage("a Cluster has only database 0: leave the number out of the URL"));
    }
    Ok(Servers { role, addresses, access })
}

#[derive(Default)]
struct Query {
    db: Option<u32>,
    authorities: Option<PathBuf>,
    insecure: bool,
    sentinel: Login,
}

impl Query {
    fn parse(text: &str) -> Result<Self, OpenError> {
        let mut query = Query::default();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = unescape(value)?;
            match name {
                "db" => query.db = Some(number(&value)?),
                "ca" => query.authorities = Some(value.into()),
                "insecure" => query.insecure = value.is_empty() || value == "true",
                "sentinel_user" => query.sentinel.user = Some(value),
                "sentinel_password" => query.sentinel.password = Some(value),
                other => {
                    return Err(usage(format!(
                        "{other}= is no option of a store: use db, ca, insecure, sentinel_user or \
                         sentinel_password"
                    )));
                }
            }
        }
        Ok(query)
    }
}

fn number(text: &str) -> Result<u32, OpenError> {
    text.parse()
        .map_err(|_| usage("the database in the URL is a number, such as redis://host:6379/2"))
}

fn read_login(text: &str) -> Result<Login, OpenError> {
    let Some((user, password)) = text.split_once(':') else {
        return Err(usage("a login in the URL is user:password@, or :password@ without a user"));
    };
    let some = |text: String| (!text.is_empty()).then_some(text);
    Ok(Login { user: some(unescape(user)?), password: some(unescape(password)?) })
}

fn address(text: &str, default: u16) -> Result<Endpoint, OpenError> {
    let bad = || usage("an address is host:port, with the port from 1 to 65535");
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(bad)?;
            (host, after.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        None => default,
        Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(bad)?,
    };
    if host.is_empty() {
        return Err(bad());
    }
    Ok(Endpoint::Tcp(host.to_owned(), port))
}

fn unescape(text: &str) -> Result<String, OpenError> {
    let bad =
        || usage("a % in the URL is followed by two hexadecimal digits: write % itself as %25");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits =
                after.get(..2).and_then(|two| std::str::from_utf8(two).ok()).ok_or_else(bad)?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| bad())?);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(text: &str) -> Servers {
        match Address::parse(text) {
            Ok(Address::Servers(servers)) => servers,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn every_kind_of_url_is_read() {
        assert_eq!(Address::parse("memory"), Ok(Address::Memory));
        assert_eq!(Address::parse("embedded:./d"), Ok(Address::Directory("./d".into())));
        assert_eq!(servers("redis://host").to_string(), "redis://host:6379");
        assert_eq!(servers("redis://[::1]:7/3").to_string(), "redis://[::1]:7 db 3");
        assert_eq!(servers("unix:///run/redis.sock?db=2").access.db, 2);
        let tls = servers("rediss://h:1?ca=/etc/ca.pem").access.tls.expect("TLS");
        assert_eq!(tls.authorities, Some("/etc/ca.pem".into()));
        assert!(!tls.insecure);
        let sentinel = servers("redis+sentinel://a,b:7/mymaster/4?sentinel_password=x");
        assert_eq!(sentinel.addresses[0], Endpoint::Tcp("a".into(), 26379));
        assert_eq!(sentinel.addresses[1], Endpoint::Tcp("b".into(), 7));
        assert_eq!(sentinel.access.db, 4);
        assert!(
            matches!(sentinel.role, Deployment::Sentinel { primary, .. } if primary == "mymaster")
        );
        assert_eq!(servers("redis+cluster://a:1,b:2").role, Deployment::Cluster);
    }

    #[test]
    fn a_password_is_read_and_never_shown() {
        let found = servers("redis://me:p%40ss%3Aw@host/1");
        assert_eq!(found.access.login.user.as_deref(), Some("me"));
        assert_eq!(found.access.login.password.as_deref(), Some("p@ss:w"));
        assert!(!format!("{found:?} {found}").contains("p@ss"));
        assert_eq!(servers("redis://:only@h").access.login.user, None);
    }

    #[test]
    fn a_bad_url_gets_a_sentence_without_the_secret() {
        for bad in [
            "localhost:6379",
            "http://h",
            "redis://",
            "redis://:secret@",
            "redis://secret@h",
            "redis://u:secret@h:0",
            "redis://u:secret@h:70000",
            "redis://u:secret@h/x",
            "redis://u:secret@h/1/2",
            "redis://u:sec%zzret@h",
            "redis://u:secret@h?timeout=1",
            "redis://u:secret@h#x",
            "redis://u:secret@a,b",
            "redis://u:secret@h?insecure",
            "redis+sentinel://u:secret@a,b",
            "redis+cluster://u:secret@a/1",
            "unix://",
            "embedded:",
        ] {
            let error = Address::parse(bad).expect_err(bad);
            assert_eq!(error.exit_code(), 2, "{bad}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
