//! Every setting, declared once: name, shape, default, one sentence. File, environment and flags all come
//! through [`Settings::set`], so an unknown name or a bad value is one sentence whatever its source.
//! `worldkeep config show` is a loop over the same table. Modules add their own definitions.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What a setting's text must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Anything.
    Text,
    /// A URL that may hold a password; shown without it.
    Url,
    /// `IP:PORT`, or empty for off.
    Address,
    /// `true` or `false`.
    Flag,
    /// A whole number, with its unit in the name.
    Number,
    /// A whole number that may be negative.
    Signed,
    /// A number, with or without a fraction, or empty.
    Decimal,
    /// Words separated by commas.
    List,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Never shown; may also come from the file that `…_FILE` names.
    Secret,
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct SettingDef {
    /// Dotted name as in the file; `limits.body_bytes` is `WORLDKEEP_LIMITS_BODY_BYTES` in the environment.
    pub name: &'static str,
    /// What its text must look like.
    pub shape: Shape,
    /// Used when nobody says otherwise.
    pub default: &'static str,
    /// One sentence.
    pub says: &'static str,
}

/// A setting in one line.
pub(crate) const fn def(
    name: &'static str,
    shape: Shape,
    default: &'static str,
    says: &'static str,
) -> SettingDef {
    SettingDef { name, shape, default, says }
}

/// The settings of the server itself.
pub const SETTINGS: &[SettingDef] = &[
    def("http", Shape::Address, "127.0.0.1:7070", "address of dashboard, API and sockets"),
    def("redis", Shape::Url, "", "Redis or Valkey to use; empty means the embedded engine"),
    def(
        "data",
        Shape::Text,
        "",
        "directory of the embedded engine; empty means the user's data directory",
    ),
    def("resp", Shape::Address, "", "address where the embedded engine speaks RESP; empty is off"),
    def("resp_password", Shape::Secret, "", "password that RESP clients must give"),
    def(
        "resp_users",
        Shape::Text,
        "",
        "file of users that RESP clients log in as, with the lines of a Redis ACL file",
    ),
    def(
        "script_memory_bytes",
        Shape::Number,
        "268435456",
        "memory that scripts on the embedded engine may take; one that needs more ends in an error; 0 is no limit",
    ),
    def(
        "layout",
        Shape::Choice(&["plain", "tagged"]),
        "plain",
        "spelling of keys; Cluster needs tagged",
    ),
    def("modules", Shape::List, "all", "modules to run: all, none, or names separated by commas"),
    def(
        "demo",
        Shape::Choice(&["auto", "on", "off"]),
        "auto",
        "the small live demo world; auto is on with the embedded engine only",
    ),
    def("log", Shape::Text, "info", "what to log: a level, or filters such as `info,server=debug`"),
    def(
        "log_format",
        Shape::Choice(&["auto", "text", "json"]),
        "auto",
        "text or json; auto is text on a terminal and json elsewhere",
    ),
    def("admin_token", Shape::Secret, "", "an admin token that exists without being stored"),
    def(
        "jwt_key",
        Shape::Secret,
        "",
        "key that signs players' tokens, 32 bytes or more; empty makes one",
    ),
    def(
        "loopback_admin",
        Shape::Flag,
        "true",
        "whether direct loopback requests are admin without login",
    ),
    def("origins", Shape::List, "", "further origins that may use the API from a browser"),
    def(
        "trusted_proxies",
        Shape::List,
        "",
        "addresses of proxies whose X-Forwarded-For is believed",
    ),
    def("session_hours", Shape::Number, "12", "how long a dashboard login lasts without use"),
    def("stop_wait_s", Shape::Number, "25", "how long a stop waits for requests under way"),
    def("limits.body_bytes", Shape::Number, "1048576", "largest request body"),
    def("limits.request_ms", Shape::Number, "30000", "longest time a request may take"),
    def("limits.header_read_ms", Shape::Number, "5000", "longest time to send the request head"),
    def(
        "limits.write_stall_ms",
        Shape::Number,
        "10000",
        "longest time a client may take nothing of what it is sent, over HTTP, sockets and RESP",
    ),
    def("limits.connections", Shape::Number, "20000", "open connections; 0 is no limit"),
    def(
        "limits.connections_per_address",
        Shape::Number,
        "1024",
        "open connections from one address; 0 is no limit",
    ),
    def(
        "limits.requests_per_second",
        Shape::Number,
        "2000",
        "requests of one account, with a burst of twice that; 0 is no limit",
    ),
    def(
        "limits.anonymous_per_second",
        Shape::Number,
        "100",
        "requests of one address without login, with a burst of twice that; 0 is no limit",
    ),
    def(
        "limits.logins_per_minute",
        Shape::Number,
        "5",
        "tries to log in from one address; 0 is no limit",
    ),
    def("limits.sockets_per_account", Shape::Number, "10", "sockets of one account; 0 is no limit"),
    def("limits.sockets_per_address", Shape::Number, "50", "sockets of one address; 0 is no limit"),
    def("limits.socket_message_bytes", Shape::Number, "65536", "largest message from a socket"),
    def(
        "limits.socket_queue_messages",
        Shape::Number,
        "256",
        "messages that may wait for a slow reader",
    ),
    def(
        "limits.socket_queue_bytes",
        Shape::Number,
        "1048576",
        "bytes that may wait for a slow reader",
    ),
    def(
        "limits.socket_recheck_s",
        Shape::Number,
        "15",
        "how often a socket's token is looked at again",
    ),
    def("limits.socket_idle_s", Shape::Number, "60", "silence after which a socket is closed"),
];

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The table.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// A file named by an environment variable.
    EnvFile(String, PathBuf),
    /// A command-line flag.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File(path) => write!(f, "file {}", path.display()),
            Source::Env(name) => write!(f, "environment {name}"),
            Source::EnvFile(name, path) => write!(f, "environment {name} ({})", path.display()),
            Source::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// Why a setting is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// No such name.
    #[error("unknown setting `{name}` in {origin}{}", near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// As it was written.
        name: String,
        /// Where.
        origin: String,
        /// The closest known name.
        near: Option<&'static str>,
    },
    /// A value of the wrong shape.
    #[error("setting `{name}` in {origin}: {problem}")]
    Bad {
        /// Which setting.
        name: &'static str,
        /// Where.
        origin: String,
        /// What is wrong and what is wanted; never repeats a secret.
        problem: String,
    },
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its definition.
    pub def: SettingDef,
    /// Its text; empty means unset.
    pub text: String,
    /// Where it came from.
    pub source: Source,
}

impl Setting {
    /// The text for people: secrets and passwords hidden.
    pub fn shown(&self) -> String {
        match self.def.shape {
            Shape::Secret if !self.text.is_empty() => "(hidden)".into(),
            Shape::Url => hide_password(&self.text),
            _ => self.text.clone(),
        }
    }
}

/// All settings, each with its value and source.
#[derive(Debug, Clone)]
pub struct Settings {
    all: BTreeMap<&'static str, Setting>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new()
    }
}

impl Settings {
    /// Defaults of the server and of all modules.
    pub fn new() -> Self {
        let modules = crate::modules::MODULES.iter().flat_map(|module| module.settings);
        let all = SETTINGS
            .iter()
            .chain(crate::worlds::SETTINGS)
            .chain(modules)
            .map(|def| {
                let setting =
                    Setting { def: *def, text: def.default.to_owned(), source: Source::Default };
                (def.name, setting)
            })
            .collect();
        Settings { all }
    }

    /// Sets one by name; the last source wins.
    pub fn set(&mut self, name: &str, text: &str, source: Source) -> Result<(), SettingError> {
        let Some(setting) = self.all.get_mut(name) else {
            return Err(SettingError::Unknown {
                name: name.to_owned(),
                origin: source.to_string(),
                near: nearest(name, self.all.keys().copied()),
            });
        };
        let text = text.trim();
        if let Err(problem) = fits(setting.def.shape, text) {
            let origin = source.to_string();
            return Err(SettingError::Bad { name: setting.def.name, origin, problem });
        }
        text.clone_into(&mut setting.text);
        setting.source = source;
        Ok(())
    }

    /// Every setting, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.all.values()
    }

    /// One setting. Asking for a name that is not in the table is a bug.
    pub fn get(&self, name: &str) -> &Setting {
        self.all.get(name).expect("settings are asked for by names of the table")
    }

    /// Its text, `None` when empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        Some(self.get(name).text.as_str()).filter(|text| !text.is_empty())
    }

    /// A [`Shape::Flag`].
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).text == "true"
    }

    /// A [`Shape::Number`]; its shape was checked when it was set.
    pub fn number(&self, name: &str) -> u64 {
        self.get(name).text.parse().unwrap_or(0)
    }

    /// A [`Shape::Signed`]; its shape was checked when it was set.
    pub fn signed(&self, name: &str) -> i64 {
        self.get(name).text.parse().unwrap_or(0)
    }

    /// A [`Shape::Number`] as a size or count in memory.
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.number(name)).unwrap_or(usize::MAX)
    }

    /// A [`Shape::Number`] in milliseconds.
    pub fn millis(&self, name: &str) -> Duration {
        Duration::from_millis(self.number(name))
    }

    /// A [`Shape::List`].
    pub fn list(&self, name: &str) -> Vec<String> {
        let text = &self.get(name).text;
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }
}

fn fits(shape: Shape, text: &str) -> Result<(), String> {
    match shape {
        Shape::Text | Shape::Url | Shape::List | Shape::Secret => Ok(()),
        Shape::Address | Shape::Decimal if text.is_empty() => Ok(()),
        Shape::Address => match text.parse::<std::net::SocketAddr>() {
            Ok(_) => Ok(()),
            Err(_) if text.strip_prefix("localhost:").is_some_and(|p| p.parse::<u16>().is_ok()) => {
                Ok(())
            }
            Err(_) => Err(format!("`{text}` is not an address; write it like 127.0.0.1:7070")),
        },
        Shape::Flag if matches!(text, "true" | "false") => Ok(()),
        Shape::Flag => Err(format!("`{text}` is neither true nor false")),
        Shape::Number if text.parse::<u64>().is_ok() => Ok(()),
        Shape::Number => Err(format!("`{text}` is not a whole number from 0 up")),
        Shape::Signed if text.parse::<i64>().is_ok() => Ok(()),
        Shape::Signed => Err(format!("`{text}` is not a whole number")),
        Shape::Decimal if text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(()),
        Shape::Decimal => Err(format!("`{text}` is not a number; write it like 2.5")),
        Shape::Choice(words) if words.contains(&text) => Ok(()),
        Shape::Choice(words) => Err(format!("`{text}` is not one of {}", words.join(", "))),
    }
}

/// `docs/settings.md`, from the tables.
pub fn settings_page() -> String {
    use std::fmt::Write as _;
    let mut page = String::from(
        "# Settings\n\nGenerated from the tables in `crates/server/src/settings.rs` and the modules. Do not edit: \
         `UPDATE_EXPECT=1 cargo test -p worldkeep-server` writes it.\n\n\
         A value comes from `worldkeep.toml` (in the working directory, or `--config FILE`), is overruled by the \
         variable, and that by the flag of `serve`. `worldkeep config show` prints each with its source. What is \
         unknown is an error. Secrets and URLs may also come from the file that `<VARIABLE>_FILE` names.\n\n\
         | setting | variable | default | meaning |\n|---|---|---|---|\n",
    );
    for setting in Settings::new().iter() {
        let SettingDef { name, default, says, .. } = setting.def;
        let variable = format!("WORLDKEEP_{}", name.replace('.', "_").to_uppercase());
        let default = if default.is_empty() { "–".to_owned() } else { format!("`{default}`") };
        let _ = writeln!(page, "| `{name}` | `{variable}` | {default} | {says} |");
    }
    page
}

/// `redis://:secret@host` becomes `redis://:***@host`.
pub fn hide_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind('@') else { return url.to_owned() };
    let user = rest[..at].split(':').next().unwrap_or_default();
    format!("{scheme}://{user}:***{}", &rest[at..])
}

/// The closest of `known`, when it is close enough to be a slip of the fingers.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given: String = given.chars().take(64).collect();
    known
        .map(|name| {
            // `body_bytes` for `limits.body_bytes` is a forgotten section, not a typo.
            let tail = name.rsplit('.').next().unwrap_or(name);
            (distance(&given, name).min(distance(&given, tail)), name)
        })
        .min()
        .filter(|(far, name)| *far <= 1 + name.len() / 4)
        .map(|(_, name)| name)
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let swap = corner + usize::from(left != *right);
            corner = row[j + 1];
            row[j + 1] = swap.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_fits_its_shape() {
        for setting in Settings::new().iter() {
            assert_eq!(
                fits(setting.def.shape, setting.def.default),
                Ok(()),
                "{}",
                setting.def.name
            );
        }
    }

    #[test]
    fn unknown_setting_names_the_nearest() {
        let mut settings = Settings::new();
        let error = settings.set("htpp", "x", Source::Env("WORLDKEEP_HTPP".into())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown setting `htpp` in environment WORLDKEEP_HTPP; did you mean `http`?"
        );
        let error = settings.set("body_bytes", "1", Source::Default).unwrap_err();
        assert!(error.to_string().contains("`limits.body_bytes`"), "{error}");
        let error = settings.set("zzzzzzzzzzz", "1", Source::Default).unwrap_err();
        assert!(!error.to_string().contains("did you mean"), "{error}");
    }

    #[test]
    fn last_source_wins_and_is_remembered() {
        let mut settings = Settings::new();
        settings.set("stop_wait_s", "3", Source::Env("E".into())).unwrap();
        settings.set("stop_wait_s", "4", Source::Flag("--f".into())).unwrap();
        assert_eq!(settings.number("stop_wait_s"), 4);
        assert_eq!(settings.get("stop_wait_s").source, Source::Flag("--f".into()));
    }

    #[test]
    fn secrets_and_passwords_are_not_shown() {
        let mut settings = Settings::new();
        settings.set("admin_token", "wk_secret", Source::Default).unwrap();
        settings.set("redis", "redis://me:hunter2@h:1/0", Source::Default).unwrap();
        assert_eq!(settings.get("admin_token").shown(), "(hidden)");
        assert_eq!(settings.get("redis").shown(), "redis://me:***@h:1/0");
        assert_eq!(hide_password("redis://h:1"), "redis://h:1");
    }

    #[test]
    fn bad_values_say_what_is_wanted() {
        let mut settings = Settings::new();
        let error = settings.set("layout", "round", Source::Default).unwrap_err().to_string();
        assert!(error.contains("plain, tagged"), "{error}");
        let error = settings.set("http", "7070", Source::Default).unwrap_err().to_string();
        assert!(error.contains("127.0.0.1:7070"), "{error}");
    }
}
