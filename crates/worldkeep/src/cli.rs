//! The command line as data: verbs, flags, examples. Help, completions and man pages come from here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

pub mod galaxy;
pub mod jobs;
pub mod monsters;
pub mod reactors;
mod rooms;
pub mod worlds;

pub use rooms::Rooms;

/// The live state of multiplayer games, and the background jobs around them, in Redis or in this process.
#[derive(Debug, Parser)]
#[command(
    name = "worldkeep",
    version,
    propagate_version = true,
    after_help = "Examples:\n  \
        worldkeep                                  server with the embedded engine, dashboard on 127.0.0.1:7070\n  \
        worldkeep serve --redis redis://10.0.0.5   the same on a Redis or Valkey\n  \
        worldkeep party                            the same, and the party game for phones on the local network\n  \
        worldkeep keys                             every key this program knows\n  \
        worldkeep check --json                     what is wrong in the store of the running server\n\n\
        Exit codes: 0 done, 1 failure, 2 usage, 3 not found, 4 conflict, 5 refused, 6 unreachable, 130 interrupted."
)]
pub struct Cli {
    /// Flags of every verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do; without one, `serve`.
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// Flags of every verb.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Configuration file [default: worldkeep.toml in the working directory, if it is there]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "WORLDKEEP_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<PathBuf>,
    /// Redis or Valkey: redis://, rediss://, unix://, redis+sentinel://, redis+cluster://
    #[arg(long, global = true, value_name = "URL")]
    pub redis: Option<String>,
    /// File that holds the URL of --redis: a password on the command line can be seen by `ps`
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "redis")]
    pub redis_file: Option<PathBuf>,
    /// Directory of the embedded engine; beside --redis, of its accounts [default: the user's data directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Running server that verbs ask when neither --redis nor --data is given
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "WORLDKEEP_SERVER",
        hide_env_values = true,
        default_value = "http://127.0.0.1:7070"
    )]
    pub server: String,
    /// File of authorities to trust that server by, when it is https:// [default: the system's]
    #[arg(long, global = true, value_name = "FILE", env = "WORLDKEEP_CA", hide_env_values = true)]
    pub ca: Option<PathBuf>,
    /// Token for that server
    #[arg(
        long,
        global = true,
        value_name = "TOKEN",
        env = "WORLDKEEP_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,
    /// Spelling of keys in the store; a Cluster needs tagged [default: plain]
    #[arg(long, global = true, value_enum)]
    pub layout: Option<Layout>,
    /// Print JSON, errors too
    #[arg(long, global = true)]
    pub json: bool,
    /// Print results only
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Do not ask before destroying something
    #[arg(long, short, global = true)]
    pub yes: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the server (also what no verb means)
    #[command(after_help = "Examples:\n  \
        worldkeep serve\n  \
        worldkeep serve --redis redis://:password@10.0.0.5:6379/0 --http 127.0.0.1:8080\n  \
        worldkeep serve --modules jobs,rooms --no-demo\n  \
        worldkeep serve --http 0.0.0.0:7070 --tls-cert cert.pem --tls-key key.pem   # https, once there is a token\n  \
        worldkeep serve --modules none --resp 127.0.0.1:6380   # the embedded engine alone, for redis-cli\n\n\
        Every flag is also a setting of worldkeep.toml and a WORLDKEEP_… variable: worldkeep config show.")]
    Serve(Serve),
    /// Run the server and open the party game, and nothing else, to the local network
    #[command(after_help = "Examples:\n  \
        worldkeep party                            phones scan the code in the terminal\n  \
        worldkeep party --address 192.168.1.20     on this address of the machine\n  \
        worldkeep party --address :8080 --json     on another port, told as JSON\n  \
        worldkeep party --redis redis://10.0.0.5 --http 127.0.0.1:7080\n\n\
        Phones reach the game's pages and routes only; dashboard and API stay on --http. Guide: docs/party.md.")]
    Party(Party),
    /// List every key this program knows, or show one of the store
    #[command(after_help = "Examples:\n  \
        worldkeep keys\n  \
        worldkeep keys --module rooms --json\n  \
        worldkeep keys --markdown > docs/keyspace.md\n  \
        worldkeep keys show room:ABCD2345:meta")]
    Keys(Keys),
    /// Print Redis ACL rules per role, from the keys
    #[command(after_help = "Examples:\n  \
        worldkeep acl\n  \
        worldkeep acl --module galaxy --layout tagged\n  \
        worldkeep acl --json")]
    Acl(Acl),
    /// Walk a store and report what is wrong in it
    #[command(after_help = "Examples:\n  \
        worldkeep check                                 asks the running server\n  \
        worldkeep check --redis redis://10.0.0.5 --json\n  \
        worldkeep check --repair --yes                  also mends what can be mended\n\n\
        Exit code 1 when faults remain.")]
    Check(Check),
    /// Show the configuration and where each value comes from
    #[command(after_help = "Examples:\n  \
        worldkeep config show\n  \
        WORLDKEEP_LOG=debug worldkeep config show --json")]
    Config {
        /// What to do with it.
        #[command(subcommand)]
        verb: Config,
    },
    /// Make, list and remove access tokens
    #[command(after_help = "Examples:\n  \
        worldkeep token new --name ci --role operator --days 90\n  \
        worldkeep token new --name shop --role operator --tenant 083839c6-c47c-42a6-9585-76492795d123\n  \
        worldkeep token ls --json\n  \
        worldkeep token rm 3f9a0c1b2d4e --yes")]
    Token {
        /// What to do with them.
        #[command(subcommand)]
        verb: Token,
    },
    /// List, show, close and make rooms of the party game
    #[command(after_help = "Examples:\n  \
        worldkeep rooms ls\n  \
        worldkeep rooms show ABCD-2345\n  \
        worldkeep rooms close ABCD-2345 --yes\n  \
        worldkeep rooms create party.json")]
    Rooms {
        /// What to do with them.
        #[command(subcommand)]
        verb: Rooms,
    },
    /// Write a store and the galaxy's database to one file
    #[command(after_help = "Examples:\n  \
        worldkeep backup monday.backup --data ./data             also while a server uses the directory\n  \
        worldkeep backup monday.backup --redis redis://10.0.0.5 --json\n  \
        worldkeep backup monday.backup --server https://worlds.example   from a running server, with an admin token\n  \
        openssl rand -hex 32 > key && worldkeep backup monday.backup --data ./data --key-file key\n\n\
        An embedded store is kept as it was at one moment. On Redis each key is whole, and keys that change\n\
        meanwhile may be from before or after the change.")]
    Backup(Backup),
    /// Put a backup into a store
    #[command(after_help = "Examples:\n  \
        worldkeep restore monday.backup --data ./data\n  \
        worldkeep restore monday.backup --data ./data --replace --yes     the old directory is kept beside it\n  \
        worldkeep restore monday.backup --redis redis://10.0.0.5 --key-file key\n\n\
        The file is read from begin to end before anything is changed.")]
    Restore(Restore),
    /// Copy all keys of a store into another, and compare
    #[command(after_help = "Examples:\n  \
        worldkeep migrate ./data redis://10.0.0.5\n  \
        worldkeep migrate redis://10.0.0.5 redis+cluster://10.0.0.7           keys become tagged\n  \
        worldkeep migrate redis://10.0.0.5 ./data --to-layout plain --resume  goes on after an interruption\n\n\
        Stop the servers of the source first. It is only read.")]
    Migrate(Migrate),
    /// Check or repair the log of a data directory that no server uses
    #[command(after_help = "Examples:\n  \
        worldkeep log check --data ./data\n  \
        worldkeep log repair --data ./data --yes\n\n\
        Exit code 1 when `check` finds damage. A repair deletes nothing: what it cuts out stays beside the log.")]
    Log {
        /// What to do with it.
        #[command(subcommand)]
        verb: Log,
    },
    /// Work with the job queue
    #[command(after_help = "Examples:\n  \
        worldkeep jobs dispatch email '{\"to\":\"a@b.c\"}'\n  \
        worldkeep jobs ls --status dead\n  \
        worldkeep jobs stats --watch\n  \
        worldkeep jobs doctor --redis redis://10.0.0.5\n\n\
        Asks the running server, or a store with --redis or --data. Guide: docs/jobs.md.")]
    Jobs(jobs::Jobs),
    /// Look at monsters, spawn, hit and destroy them
    #[command(after_help = "Examples:\n  \
        worldkeep monsters ls                                     the demo field\n  \
        worldkeep monsters ls --tenant 083839c6-c47c-42a6-9585-76492795d123 --field 0:1:1000000\n  \
        worldkeep monsters spawn 9300018 --at 120,0\n  \
        worldkeep monsters damage 1000000000 30 12 --character 7\n  \
        worldkeep monsters templates --catalogue ./monsters\n\n\
        Asks the running server, or a store with --redis or --data. Guide: docs/monsters.md.")]
    Monsters {
        /// What to do with them.
        #[command(subcommand)]
        verb: monsters::Monsters,
    },
    /// Look at reactors, make, strike and destroy them
    #[command(after_help = "Examples:\n  \
        worldkeep reactors ls                                     the demo field\n  \
        worldkeep reactors ls --tenant 083839c6-c47c-42a6-9585-76492795d123 --field 0:1:1000000\n  \
        worldkeep reactors create 2001 --at 231,253 --delay 5000\n  \
        worldkeep reactors hit 1000000001 --character 7\n  \
        worldkeep reactors templates --catalogue ./reactors\n\n\
        Asks the running server, or a store with --redis or --data. Guide: docs/reactors.md.")]
    Reactors {
        /// What to do with them.
        #[command(subcommand)]
        verb: reactors::Reactors,
    },
    /// Look at the galaxy, set its pace, manage its players and snapshots
    #[command(after_help = "Examples:\n  \
        worldkeep galaxy status\n  \
        worldkeep galaxy pause && worldkeep galaxy resume\n  \
        worldkeep galaxy tick-rate set 10\n  \
        worldkeep galaxy snapshot create\n  \
        worldkeep galaxy players --redis redis://10.0.0.5\n\n\
        Asks the running server, or a store with --redis or --data. Guide: docs/galaxy.md.")]
    Galaxy {
        /// What to do with it.
        #[command(subcommand)]
        verb: galaxy::Galaxy,
    },
    /// Print a completion script for a shell
    #[command(after_help = "Examples:\n  \
        worldkeep completions bash > /etc/bash_completion.d/worldkeep\n  \
        worldkeep completions zsh > ~/.zfunc/_worldkeep")]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory
    #[command(after_help = "Example:\n  worldkeep man ./man && man ./man/worldkeep.1")]
    Man {
        /// Where to.
        dir: PathBuf,
    },
    /// Print the version
    #[command(after_help = "Example:\n  worldkeep version --json")]
    Version,
}

/// Flags of `serve`.
#[derive(Debug, Clone, Default, Args)]
pub struct Serve {
    /// Address of dashboard, API and sockets [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDR")]
    pub http: Option<String>,
    /// Address where the embedded engine speaks RESP [default: off]
    #[arg(long, value_name = "ADDR")]
    pub resp: Option<String>,
    /// File of the certificate, with its chain, to serve HTTP with [default: plain HTTP]
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// File of that certificate's private key
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// File of the certificate, with its chain, to speak RESP with [default: plain RESP]
    #[arg(long, value_name = "FILE")]
    pub resp_tls_cert: Option<PathBuf>,
    /// File of that certificate's private key
    #[arg(long, value_name = "FILE")]
    pub resp_tls_key: Option<PathBuf>,
    /// File of authorities, one of which must have signed the certificate of a RESP client
    #[arg(long, value_name = "FILE")]
    pub resp_tls_client_ca: Option<PathBuf>,
    /// Modules to run: all, none, or names separated by commas [default: all]
    #[arg(long, value_name = "LIST")]
    pub modules: Option<String>,
    /// Start the small live demo world [default: on with the embedded engine]
    #[arg(long, overrides_with = "no_demo")]
    pub demo: bool,
    /// Start without it
    #[arg(long, overrides_with = "demo")]
    pub no_demo: bool,
    /// What to log: a level, or filters such as info,server=debug [default: info]
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
}

/// Flags of `party`: those of `serve`, and where guests come in.
#[derive(Debug, Clone, Default, Args)]
pub struct Party {
    /// Address of the game on the local network: IP, IP:PORT or :PORT [default: chosen, port 7071]
    #[arg(long, value_name = "ADDR")]
    pub address: Option<String>,
    /// Of the server.
    #[command(flatten)]
    pub serve: Serve,
}

/// Flags of `keys`.
#[derive(Debug, Args)]
pub struct Keys {
    /// `show KEY`, or nothing for the list.
    #[command(subcommand)]
    pub verb: Option<KeysVerb>,
    /// Only this module
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// Print the document docs/keyspace.md
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

/// What to do with a key.
#[derive(Debug, Subcommand)]
pub enum KeysVerb {
    /// Definition, value, life and neighbours of one key
    #[command(after_help = "Example:\n  worldkeep keys show room:ABCD2345:meta --json")]
    Show {
        /// The key as it is in the store.
        key: String,
    },
}

/// Flags of `acl`.
#[derive(Debug, Args)]
pub struct Acl {
    /// Only this module
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// Let roles that write single fields elsewhere write to those hashes, as existing services do
    #[arg(long)]
    pub compat: bool,
}

/// Spelling of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    /// As existing services spell them.
    #[default]
    Plain,
    /// With Cluster hash tags.
    Tagged,
}

impl Layout {
    /// As in the settings.
    pub fn word(self) -> &'static str {
        match self {
            Layout::Plain => "plain",
            Layout::Tagged => "tagged",
        }
    }
}

impl From<Layout> for kernel::keyspace::Layout {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::Plain => kernel::keyspace::Layout::Plain,
            Layout::Tagged => kernel::keyspace::Layout::Tagged,
        }
    }
}

/// Flags of `check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Mend what can be mended
    #[arg(long)]
    pub repair: bool,
}

/// Flags of `backup`.
#[derive(Debug, Args)]
pub struct Backup {
    /// The file to write; one that exists is replaced with --yes only
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// File that holds the key to encrypt with, 32 characters or more [default: `WORLDKEEP_BACKUP_KEY`, else no encryption]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

/// Flags of `restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// File that holds its key [default: `WORLDKEEP_BACKUP_KEY`]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Restore into a store that is not empty: a directory is put aside, on Redis keys of the same name are written over
    #[arg(long)]
    pub replace: bool,
}

/// Flags of `migrate`.
#[derive(Debug, Args)]
pub struct Migrate {
    /// The store to read: a URL as of --redis, or a directory
    #[arg(value_name = "FROM")]
    pub from: String,
    /// The store to write, which must be empty
    #[arg(value_name = "TO")]
    pub to: String,
    /// Spelling of keys in the target [default: as they are; tagged on a Cluster]
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub to_layout: Option<Layout>,
    /// Go on with a copy that was interrupted: keys that are equal already are left
    #[arg(long)]
    pub resume: bool,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Every setting, its value and where it comes from
    #[command(after_help = "Example:\n  worldkeep config show --json")]
    Show,
}

/// What to do with a log.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Log {
    /// Read every file and say what is wrong; changes nothing
    #[command(after_help = "Example:\n  worldkeep log check --data ./data --json")]
    Check,
    /// Cut a damaged log where its good part ends, and put the rest aside
    #[command(after_help = "Example:\n  worldkeep log repair --data ./data --yes")]
    Repair,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make one; its text is printed once and kept nowhere
    #[command(after_help = "Example:\n  worldkeep token new --name ci --role operator --days 90")]
    New(TokenNew),
    /// List them
    #[command(after_help = "Example:\n  worldkeep token ls --json")]
    Ls,
    /// Remove one; whoever uses it is refused from then on
    #[command(after_help = "Example:\n  worldkeep token rm 3f9a0c1b2d4e --yes")]
    Rm {
        /// As `token ls` shows it.
        id: String,
    },
}

/// Flags of `token new`.
#[derive(Debug, Args)]
pub struct TokenNew {
    /// For people: who or what uses it
    #[arg(long)]
    pub name: String,
    /// What it may do
    #[arg(long, value_enum, default_value_t = Role::Reader)]
    pub role: Role,
    /// Tenant it is good for and no other; may be repeated [default: all, unless --namespace limits it]
    #[arg(long = "tenant", value_name = "ID")]
    pub tenants: Vec<String>,
    /// Job namespace it is good for and no other; may be repeated [default: all, unless --tenant limits it]
    #[arg(long = "namespace", value_name = "NAME")]
    pub namespaces: Vec<String>,
    /// Let it see payloads and results
    #[arg(long)]
    pub payloads: bool,
    /// Days until it ends [default: with the token that makes it, else never]
    #[arg(long)]
    pub days: Option<u32>,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// See.
    Reader,
    /// See and act.
    Operator,
    /// See, act and manage tokens.
    Admin,
}

/// Puts `serve` where flags come without a verb, so that `worldkeep --http …` does what it says.
pub fn with_default_verb(mut args: Vec<OsString>) -> Vec<OsString> {
    let first = args.get(1).and_then(|arg| arg.to_str());
    let flag = first.is_some_and(|arg| {
        arg.starts_with('-') && !matches!(arg, "-h" | "--help" | "-V" | "--version")
    });
    let command = Cli::command();
    let is_verb = |arg: &OsString| {
        arg.to_str().is_some_and(|arg| {
            arg == "help" || command.get_subcommands().any(|verb| verb.get_name() == arg)
        })
    };
    if flag && !args.iter().skip(1).any(is_verb) {
        args.insert(1, "serve".into());
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Cli {
        let args = line.split_whitespace().map(OsString::from).collect();
        Cli::try_parse_from(with_default_verb(args)).unwrap()
    }

    #[test]
    fn definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_without_a_verb_are_for_serve() {
        let cli = parse("worldkeep --http 127.0.0.1:1 --no-demo");
        assert!(matches!(cli.verb, Some(Verb::Serve(Serve { no_demo: true, http: Some(_), .. }))));
        assert!(parse("worldkeep").verb.is_none());
        assert!(matches!(parse("worldkeep --json keys").verb, Some(Verb::Keys(_))));
    }

    #[test]
    fn every_verb_has_examples() {
        fn look(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Example"), "{path} has no example");
            command.get_subcommands().for_each(|verb| look(verb, &path));
        }
        look(&Cli::command(), "");
    }
}
