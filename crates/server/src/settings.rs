//! Every setting, declared once: name, type, default, one sentence. The code reads fields, so a wrong name does not
//! compile. File, environment and flags all come through [`Settings::set`], so an unknown name or a bad value is one
//! sentence whatever its source. `worldkeep config show` is a loop over the same tables. Modules have tables of their own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use kernel::Bounds;
use kernel::keyspace::Layout;

/// The shape of a setting's text.
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
    /// The shape of its text.
    pub shape: Shape,
    /// Used when nobody says otherwise.
    pub default: &'static str,
    /// One sentence.
    pub says: &'static str,
    /// The numbers that are allowed, where not all are.
    pub bounds: Option<Bounds>,
}

/// A setting as the code reads it.
pub(crate) trait Value {
    /// The shape of its text, where the table says nothing else.
    const SHAPE: Shape;

    /// From a text that fits.
    fn read(text: &str) -> Self;
}

impl Value for bool {
    const SHAPE: Shape = Shape::Flag;

    fn read(text: &str) -> Self {
        text == "true"
    }
}

impl Value for u64 {
    const SHAPE: Shape = Shape::Number;

    fn read(text: &str) -> Self {
        text.parse().unwrap_or(0)
    }
}

impl Value for u32 {
    const SHAPE: Shape = Shape::Number;

    fn read(text: &str) -> Self {
        u64::read(text).try_into().unwrap_or(u32::MAX)
    }
}

impl Value for usize {
    const SHAPE: Shape = Shape::Number;

    fn read(text: &str) -> Self {
        u64::read(text).try_into().unwrap_or(usize::MAX)
    }
}

impl Value for i64 {
    const SHAPE: Shape = Shape::Signed;

    fn read(text: &str) -> Self {
        text.parse().unwrap_or(0)
    }
}

impl Value for Option<f64> {
    const SHAPE: Shape = Shape::Decimal;

    fn read(text: &str) -> Self {
        text.parse().ok()
    }
}

impl Value for Option<String> {
    const SHAPE: Shape = Shape::Text;

    fn read(text: &str) -> Self {
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl Value for Vec<String> {
    const SHAPE: Shape = Shape::List;

    fn read(text: &str) -> Self {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }
}

/// The words of a choice.
macro_rules! words {
    ($Type:ident { $($word:literal = $variant:ident),* }) => {
        impl crate::settings::Value for $Type {
            const SHAPE: crate::settings::Shape = crate::settings::Shape::Choice(&[$($word),*]);

            fn read(text: &str) -> Self {
                match text {
                    $($word => $Type::$variant,)*
                    other => unreachable!("{other} is one of the words: it was looked at before"),
                }
            }
        }
    };
}
pub(crate) use words;

/// A group of settings: a struct with a field per setting, the table of their definitions, and the name of each in a
/// module. `field: type = "default", "sentence";` says all of one; `as Secret` gives its text another shape, and bounds
/// behind the sentence limit a number.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $Group:ident, $names:ident, $prefix:literal {
            $($field:ident: $type:ty $(as $shape:ident)? = $default:literal, $says:literal $(, $bounds:expr)?;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        #[allow(clippy::doc_markdown)] // Sentences for operators, not for rustdoc.
        pub struct $Group {
            $(#[doc = $says] pub $field: $type,)*
        }

        /// The name of each setting.
        #[allow(non_upper_case_globals, missing_docs, dead_code, unreachable_pub)]
        pub mod $names {
            $(pub const $field: $crate::settings::Name =
                $crate::settings::Name(concat!($prefix, stringify!($field)));)*
        }

        impl crate::settings::Group for $Group {
            const DEFS: &'static [crate::settings::SettingDef] = &[$(crate::settings::SettingDef {
                name: $names::$field.0,
                shape: crate::settings::shape!($type $(as $shape)?),
                default: $default,
                says: $says,
                bounds: [$(Some($bounds),)? None][0],
            },)*];

            fn assign(&mut self, name: &str, text: &str) {
                match name {
                    $(name if name == $names::$field.0 => {
                        self.$field = crate::settings::Value::read(text);
                    })*
                    _ => {}
                }
            }
        }

        impl Default for $Group {
            fn default() -> Self {
                $Group { $($field: crate::settings::Value::read($default),)* }
            }
        }
    };
}
pub(crate) use settings;

macro_rules! shape {
    ($type:ty) => {
        <$type as crate::settings::Value>::SHAPE
    };
    ($type:ty as $shape:ident) => {
        crate::settings::Shape::$shape
    };
}
pub(crate) use shape;

/// A struct that [`settings!`] made.
pub(crate) trait Group: Default {
    const DEFS: &'static [SettingDef];

    /// Takes a value that fits, if the name is one of its own.
    fn assign(&mut self, name: &str, text: &str);
}

/// The name of a setting that there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name(pub(crate) &'static str);

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// Whether there is a demo world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demo {
    /// With the embedded engine only.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

words!(Demo { "auto" = Auto, "on" = On, "off" = Off });

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// For programs.
    Json,
}

words!(LogFormat { "auto" = Auto, "text" = Text, "json" = Json });
words!(Layout { "plain" = Plain, "tagged" = Tagged });

settings! {
    /// Settings of the server itself.
    pub struct ServerSettings, names, "" {
        http: Option<String> as Address = "127.0.0.1:7070", "address of dashboard, API and sockets";
        tls_cert: Option<String> = "", "file of the certificate, with its chain, that HTTP is served with; empty is plain HTTP";
        tls_key: Option<String> = "", "file of that certificate's private key";
        redis: Option<String> as Url = "", "Redis or Valkey to use; empty means the embedded engine";
        data: Option<String> = "", "directory of the embedded engine; empty means the user's data directory";
        resp: Option<String> as Address = "", "address where the embedded engine speaks RESP; empty is off";
        resp_password: Option<String> as Secret = "", "password that RESP clients must give";
        resp_users: Option<String> = "", "file of users that RESP clients log in as, with the lines of a Redis ACL file";
        resp_tls_cert: Option<String> = "", "file of the certificate, with its chain, that RESP is spoken with; empty is plain RESP";
        resp_tls_key: Option<String> = "", "file of that certificate's private key";
        resp_tls_client_ca: Option<String> = "",
            "file of authorities, one of which must have signed the certificate of a RESP client; empty asks clients for none";
        script_memory_bytes: usize = "268435456",
            "memory that scripts on the embedded engine may take; one that needs more ends in an error; 0 is no limit";
        layout: Layout = "plain", "spelling of keys; Cluster needs tagged";
        modules: Vec<String> = "all", "modules to run: all, none, or names separated by commas";
        demo: Demo = "auto", "the small live demo world; auto is on with the embedded engine only";
        log: Option<String> = "info", "what to log: a level, or filters such as `info,server=debug`";
        log_format: LogFormat = "auto", "text or json; auto is text on a terminal and json elsewhere";
        admin_token: Option<String> as Secret = "", "an admin token that exists without being stored";
        jwt_key: Option<String> as Secret = "", "key that signs players' tokens, 32 bytes or more; empty makes one";
        loopback_admin: bool = "true", "whether direct loopback requests are admin without login";
        origins: Vec<String> = "", "further origins that may use the API from a browser";
        trusted_proxies: Vec<String> = "", "addresses of proxies whose X-Forwarded-For is believed";
        session_hours: u64 = "12", "how long a dashboard login lasts without use";
        stop_wait_s: u64 = "25", "how long a stop waits for requests under way";
    }
}

/// A wait that is none would spin.
const SECONDS: Bounds = Bounds::within(1.0..=f64::INFINITY);

settings! {
    /// Limits of a client.
    pub struct LimitSettings, limit_names, "limits." {
        body_bytes: usize = "1048576", "largest request body";
        request_ms: u64 = "30000", "longest time a request may take";
        header_read_ms: u64 = "5000", "longest time to send the request head";
        write_stall_ms: u64 = "10000",
            "longest time a client may take nothing of what it is sent, over HTTP, sockets and RESP";
        connections: usize = "20000", "open connections; 0 is no limit";
        connections_per_address: usize = "1024", "open connections from one address; 0 is no limit";
        requests_per_second: usize = "2000",
            "requests of one account, and for files of the pages of one address, with a burst of twice that; 0 is no limit";
        anonymous_per_second: usize = "100",
            "other requests of one address without login, with a burst of twice that; 0 is no limit";
        logins_per_minute: usize = "5", "tries to log in from one address; 0 is no limit";
        sockets_per_account: usize = "10", "sockets of one account; 0 is no limit";
        sockets_per_address: usize = "50", "sockets of one address; 0 is no limit";
        socket_message_bytes: usize = "65536", "largest message from a socket";
        socket_queue_messages: usize = "256", "messages that may wait for a slow reader";
        socket_queue_bytes: usize = "1048576", "bytes that may wait for a slow reader";
        socket_recheck_s: u64 = "15", "seconds after which a socket's token is looked at again", SECONDS;
        socket_idle_s: u64 = "60", "seconds of silence after which a socket is closed", SECONDS;
    }
}

/// The source of a value.
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
        /// The source.
        origin: String,
        /// The closest known name.
        near: Option<&'static str>,
    },
    /// A value of the wrong shape.
    #[error("setting `{name}` in {origin}: {problem}")]
    Bad {
        /// Which setting.
        name: &'static str,
        /// The source.
        origin: String,
        /// The flaw and the remedy; never repeats a secret.
        problem: String,
    },
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The definition.
    pub def: SettingDef,
    /// The text; empty means unset.
    pub text: String,
    /// The source.
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

macro_rules! groups {
    ($($group:ident: $Group:ty, $says:literal;)*) => {
        /// All settings: typed, and each as text with its source.
        #[derive(Debug, Clone)]
        pub struct Settings {
            all: BTreeMap<&'static str, Setting>,
            $(#[doc = $says] pub $group: $Group,)*
        }

        impl Default for Settings {
            fn default() -> Self {
                let defs = [$(<$Group as Group>::DEFS),*].concat().into_iter();
                let all = defs.map(|def| {
                    let text = def.default.to_owned();
                    (def.name, Setting { def, text, source: Source::Default })
                });
                Settings { all: all.collect(), $($group: <$Group>::default(),)* }
            }
        }

        impl Settings {
            fn assign(&mut self, name: &str, text: &str) {
                $(self.$group.assign(name, text);)*
            }
        }
    };
}

groups! {
    server: ServerSettings, "Of the server itself.";
    limits: LimitSettings, "What a client may use at most.";
    backup: crate::backups::BackupSettings, "Of backups by the server.";
    worlds: crate::worlds::WorldsSettings, "Of reactors and monsters together.";
    reactors: crate::reactors::settings::ReactorsSettings, "Of the reactors.";
    monsters: crate::monsters::settings::MonstersSettings, "Of the monsters.";
    galaxy: crate::galaxy::settings::GalaxySettings, "Of the galaxy.";
    rooms: crate::rooms::settings::RoomsSettings, "Of the rooms.";
    jobs: crate::jobs::settings::JobsSettings, "Of the job queues.";
}

impl Settings {
    /// Defaults of the server and of all modules.
    pub fn new() -> Self {
        Settings::default()
    }

    /// Sets one by name; the last source wins.
    pub fn set(
        &mut self,
        name: impl AsRef<str>,
        text: &str,
        source: Source,
    ) -> Result<(), SettingError> {
        let name = name.as_ref();
        let Some(setting) = self.all.get_mut(name) else {
            return Err(SettingError::Unknown {
                name: name.to_owned(),
                origin: source.to_string(),
                near: nearest(name, self.all.keys().copied()),
            });
        };
        let text = text.trim();
        if let Err(problem) = setting.def.fits(text) {
            let origin = source.to_string();
            return Err(SettingError::Bad { name: setting.def.name, origin, problem });
        }
        text.clone_into(&mut setting.text);
        setting.source = source;
        self.assign(name, text);
        Ok(())
    }

    /// Every setting, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.all.values()
    }

    /// One setting as text, with its source.
    pub fn get(&self, name: Name) -> &Setting {
        &self.all[name.0]
    }
}

impl SettingDef {
    /// Whether a text has the shape of the setting and is within its bounds; otherwise what is wrong.
    fn fits(&self, text: &str) -> Result<(), String> {
        has_shape(self.shape, text)?;
        match (self.bounds, text.parse()) {
            (Some(bounds), Ok(number)) if !bounds.hold(number) => {
                Err(format!("`{text}` is outside of its bounds; it must be {bounds}"))
            }
            _ => Ok(()),
        }
    }
}

fn has_shape(shape: Shape, text: &str) -> Result<(), String> {
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

/// Every setting as it is declared.
pub fn defs() -> Vec<SettingDef> {
    Settings::new().iter().map(|setting| setting.def).collect()
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
        let SettingDef { name, default, says, bounds, .. } = setting.def;
        let bounds = bounds.map(|bounds| format!("; {bounds}")).unwrap_or_default();
        let variable = format!("WORLDKEEP_{}", name.replace('.', "_").to_uppercase());
        let default = if default.is_empty() { "–".to_owned() } else { format!("`{default}`") };
        let _ = writeln!(page, "| `{name}` | `{variable}` | {default} | {says}{bounds} |");
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
            assert_eq!(setting.def.fits(setting.def.default), Ok(()), "{}", setting.def.name);
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
        assert_eq!(settings.server.stop_wait_s, 4);
        assert_eq!(settings.get(names::stop_wait_s).source, Source::Flag("--f".into()));
    }

    #[test]
    fn secrets_and_passwords_are_not_shown() {
        let mut settings = Settings::new();
        settings.set("admin_token", "wk_secret", Source::Default).unwrap();
        settings.set("redis", "redis://me:hunter2@h:1/0", Source::Default).unwrap();
        assert_eq!(settings.get(names::admin_token).shown(), "(hidden)");
        assert_eq!(settings.get(names::redis).shown(), "redis://me:***@h:1/0");
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
