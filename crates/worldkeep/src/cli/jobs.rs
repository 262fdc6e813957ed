//! `worldkeep jobs …` as data.

use std::path::PathBuf;

use clap::{Args, Subcommand};

mod dispatch;

pub use dispatch::Dispatch;
pub(crate) use dispatch::duration;

/// Flags of every jobs verb.
#[derive(Debug, Args)]
pub struct Jobs {
    /// Namespace [default: the first of the setting jobs.namespaces]
    #[arg(long, global = true, value_name = "NAME")]
    pub ns: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub verb: JobsVerb,
}

/// The verbs of jobs.
#[derive(Debug, Subcommand)]
pub enum JobsVerb {
    /// Put a job into the queue and print its id
    #[command(after_help = "Examples:\n  \
        worldkeep jobs dispatch email '{\"to\":\"a@b.c\"}'\n  \
        worldkeep jobs dispatch report --delay 5m --priority 8 --capability gpu\n  \
        worldkeep jobs dispatch digest --at 2030-01-01T18:00:00Z --unique digest:42\n  \
        worldkeep jobs dispatch invoice --group acme --sequence order:42\n  \
        worldkeep jobs dispatch reindex --debounce shop-7:5s\n  \
        echo '{\"to\":\"a@b.c\"}' | worldkeep jobs dispatch email -\n  \
        worldkeep jobs dispatch --file jobs.ndjson        # one job per line, as the API takes them")]
    Dispatch(Box<Dispatch>),
    /// Dispatch a tree of jobs: a parent runs after its children and sees their results
    #[command(after_help = "Examples:\n  \
        worldkeep jobs flow report.json --wait            # the result of the root\n  \
        echo '{\"type\":\"report\",\"children\":[{\"type\":\"page\"},{\"type\":\"page\"}]}' | worldkeep jobs flow -\n\n\
        Each job is as the API takes it, with its children beside. After the failure of a child a parent fails; with\n\
        \"x\":{\"onDependencyFailed\":\"wait\"} it waits until the child is retried or removed, with \"ignore\" it goes on.")]
    Flow(FlowFlags),
    /// Draw the flow that a job belongs to
    #[command(after_help = "Example:\n  worldkeep jobs tree 86fc0e88-c832-4c43-b5a5-5ef9f808fc97")]
    Tree(One),
    /// Show one job: state, progress, result, lock
    #[command(
        after_help = "Example:\n  worldkeep jobs get 86fc0e88-c832-4c43-b5a5-5ef9f808fc97 --json"
    )]
    Get(One),
    /// List jobs, the newest first
    #[command(after_help = "Examples:\n  \
        worldkeep jobs ls\n  \
        worldkeep jobs ls --status delayed --type email\n  \
        worldkeep jobs ls --status waiting --order place  # as they will run\n  \
        worldkeep jobs ls --text invoice --limit 500 --json")]
    Ls(Ls),
    /// Stop jobs that have not ended; a running one is told to
    #[command(
        after_help = "Example:\n  worldkeep jobs cancel 86fc0e88-c832-4c43-b5a5-5ef9f808fc97"
    )]
    Cancel(Many),
    /// Run ended jobs again, with all their attempts
    #[command(after_help = "Example:\n  worldkeep jobs retry 86fc0e88-c832-4c43-b5a5-5ef9f808fc97")]
    Retry(Many),
    /// Run delayed jobs now
    #[command(after_help = "Example:\n  worldkeep jobs run 86fc0e88-c832-4c43-b5a5-5ef9f808fc97")]
    Run(Many),
    /// Move jobs to the dead letters by hand
    #[command(after_help = "Example:\n  worldkeep jobs bury 86fc0e88-c832-4c43-b5a5-5ef9f808fc97")]
    Bury(Many),
    /// Remove jobs and everything about them
    #[command(
        after_help = "Example:\n  worldkeep jobs rm 86fc0e88-c832-4c43-b5a5-5ef9f808fc97 --yes"
    )]
    Rm(Many),
    /// Wait until a job ends and print its result; exit code 1 when it failed
    #[command(
        after_help = "Example:\n  worldkeep jobs wait 86fc0e88-c832-4c43-b5a5-5ef9f808fc97 --timeout 1m"
    )]
    Wait(Wait),
    /// Say why a job is not running
    #[command(
        after_help = "Example:\n  worldkeep jobs explain 86fc0e88-c832-4c43-b5a5-5ef9f808fc97"
    )]
    Explain(One),
    /// What happened to a job, from its events
    #[command(
        after_help = "Example:\n  worldkeep jobs timeline 86fc0e88-c832-4c43-b5a5-5ef9f808fc97"
    )]
    Timeline(One),
    /// Print what happens as it happens, until Ctrl-C
    #[command(after_help = "Examples:\n  \
        worldkeep jobs tail\n  \
        worldkeep jobs tail --event failed --event dead --json\n  \
        worldkeep jobs tail --from-start --once           # what is there, then end")]
    Tail(Tail),
    /// Dead letters: jobs that used up their attempts
    #[command(after_help = "Examples:\n  \
        worldkeep jobs dlq ls --group error\n  \
        worldkeep jobs dlq requeue --type email --yes")]
    Dlq {
        /// What to do with them.
        #[command(subcommand)]
        verb: Dlq,
    },
    /// Recurring jobs
    #[command(after_help = "Examples:\n  \
        worldkeep jobs cron add digest '0 18 * * *' digest --timezone Europe/Paris\n  \
        worldkeep jobs cron next digest -n 10")]
    Cron {
        /// What to do with them.
        #[command(subcommand)]
        verb: Cron,
    },
    /// Per type: counts, limits, whether it is paused
    #[command(after_help = "Example:\n  worldkeep jobs queues --json")]
    Queues,
    /// Stop handing out jobs of a type; running ones finish
    #[command(after_help = "Examples:\n  \
        worldkeep jobs pause email\n  worldkeep jobs pause email --for 15m\n  worldkeep jobs pause '*'")]
    Pause {
        /// The type, or * for all.
        kind: String,
        /// Resume by itself after this: 90s, 15m, 2h
        #[arg(long = "for", value_name = "TIME", value_parser = duration)]
        lasting: Option<u64>,
    },
    /// Hand out jobs of a type again
    #[command(after_help = "Example:\n  worldkeep jobs resume email")]
    Resume {
        /// The type, or * for all.
        kind: String,
    },
    /// List groups: jobs that wait, and limits
    #[command(after_help = "Example:\n  worldkeep jobs groups --json")]
    Groups,
    /// Limit a type or a group: how many of its jobs run at once, how many start in a period
    #[command(after_help = "Examples:\n  \
        worldkeep jobs limit email --concurrency 5\n  worldkeep jobs limit email --rate 100 --per 10s\n  \
        worldkeep jobs limit email --clear\n  worldkeep jobs limit acme --group --concurrency 2")]
    Limit {
        /// The type; with --group the group, or * for each group that has no limit of its own.
        #[arg(value_name = "NAME")]
        kind: String,
        /// Limit a group instead of a type
        #[arg(long)]
        group: bool,
        /// The limit, or none.
        #[command(flatten)]
        limit: LimitFlags,
    },
    /// Remove all waiting and delayed jobs of a type
    #[command(after_help = "Example:\n  worldkeep jobs purge email --yes")]
    Purge {
        /// The type.
        kind: String,
    },
    /// List workers, or quiet or stop one
    #[command(after_help = "Examples:\n  \
        worldkeep jobs workers\n  worldkeep jobs workers quiet eu-3\n  worldkeep jobs workers stop eu-3")]
    Workers {
        /// Nothing for the list.
        #[command(subcommand)]
        verb: Option<Workers>,
    },
    /// How many jobs wait, run, failed; rates and ages
    #[command(
        after_help = "Examples:\n  worldkeep jobs stats --json\n  worldkeep jobs stats --watch"
    )]
    Stats {
        /// Print a line every second until Ctrl-C
        #[arg(long)]
        watch: bool,
    },
    /// Look for jobs whose state and place disagree, ghosts, leaked counters; exit code 1 when there are any
    #[command(
        after_help = "Examples:\n  worldkeep jobs doctor\n  worldkeep jobs doctor --repair --yes"
    )]
    Doctor {
        /// Mend what can be mended
        #[arg(long)]
        repair: bool,
    },
    /// The Lua scripts, for programs in other languages
    #[command(after_help = "Example:\n  worldkeep jobs lua export ./bridgemq-lua")]
    Lua {
        /// What to do with them.
        #[command(subcommand)]
        verb: Lua,
    },
}

/// One job.
#[derive(Debug, Args)]
pub struct One {
    /// The job's id.
    pub id: String,
}

/// A tree of jobs.
#[derive(Debug, Args)]
pub struct FlowFlags {
    /// A file with the flow as JSON, or - for the input.
    pub file: PathBuf,
    /// Wait for the root to end and print its result.
    #[arg(long)]
    pub wait: bool,
}

/// Several jobs.
#[derive(Debug, Args)]
pub struct Many {
    /// The jobs' ids.
    #[arg(required = true)]
    pub ids: Vec<String>,
}

/// Flags of `jobs ls`.
#[derive(Debug, Args)]
pub struct Ls {
    /// waiting, active, delayed, cron, dead, completed or failed
    #[arg(long)]
    pub status: Option<String>,
    /// Only of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Only those whose id or payload holds this text
    #[arg(long)]
    pub text: Option<String>,
    /// newest first, or by place: waiting as they will run, delayed and cron by time [default: newest]
    #[arg(long, value_parser = ["newest", "place"])]
    pub order: Option<String>,
    /// How many
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
}

/// Flags of `jobs wait`.
#[derive(Debug, Args)]
pub struct Wait {
    /// The job's id.
    pub id: String,
    /// Give up after this: 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1h")]
    pub timeout: u64,
}

/// Flags of `jobs tail`.
#[derive(Debug, Args)]
pub struct Tail {
    /// Only of this job, type or worker
    #[arg(long)]
    pub id: Option<String>,
    /// Only this event, such as completed; may be repeated
    #[arg(long = "event", value_name = "NAME")]
    pub events: Vec<String>,
    /// Begin with the oldest that is kept, not with the last ten
    #[arg(long)]
    pub from_start: bool,
    /// Print what is there and end
    #[arg(long)]
    pub once: bool,
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub enum Dlq {
    /// List them, or their reasons
    #[command(
        after_help = "Examples:\n  worldkeep jobs dlq ls\n  worldkeep jobs dlq ls --group error"
    )]
    Ls {
        /// Only of this type
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// Only with this error
        #[arg(long, value_name = "NAME")]
        error: Option<String>,
        /// One line per reason: error
        #[arg(long, value_name = "BY")]
        group: Option<String>,
        /// How many
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Show one
    #[command(
        after_help = "Example:\n  worldkeep jobs dlq show 86fc0e88-c832-4c43-b5a5-5ef9f808fc97"
    )]
    Show(One),
    /// Run them again
    #[command(after_help = "Examples:\n  \
        worldkeep jobs dlq requeue 86fc0e88-c832-4c43-b5a5-5ef9f808fc97\n  \
        worldkeep jobs dlq requeue --error SmtpTimeout --yes\n  \
        worldkeep jobs dlq requeue --all --yes")]
    Requeue(Chosen),
    /// Remove them for good
    #[command(after_help = "Example:\n  worldkeep jobs dlq purge --type email --yes")]
    Purge(Chosen),
    /// Change a job and run it again
    #[command(
        after_help = "Example:\n  worldkeep jobs dlq edit 86fc0e88-c832-4c43-b5a5-5ef9f808fc97 --payload '{\"to\":\"x@y.z\"}'"
    )]
    Edit {
        /// The job's id.
        id: String,
        /// The new payload
        #[arg(long, value_name = "JSON")]
        payload: String,
    },
}

/// Which dead letters.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Chosen {
    /// These.
    pub ids: Vec<String>,
    /// Those of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// Those with this error
    #[arg(long, value_name = "NAME")]
    pub error: Option<String>,
    /// All of them
    #[arg(long)]
    pub all: bool,
}

/// What to do with recurring jobs.
#[derive(Debug, Subcommand)]
pub enum Cron {
    /// Make or change one
    #[command(after_help = "Examples:\n  \
        worldkeep jobs cron add digest '0 18 * * *' digest --timezone Europe/Paris\n  \
        worldkeep jobs cron add sweep '@hourly' cleanup '{\"days\":30}' --overlap queue")]
    Add(CronAdd),
    /// List them with their next times
    #[command(after_help = "Example:\n  worldkeep jobs cron ls --json")]
    Ls {
        /// How many
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
    /// Show one
    #[command(after_help = "Example:\n  worldkeep jobs cron show digest")]
    Show(One),
    /// When it fires next, in UTC and in its zone
    #[command(after_help = "Example:\n  worldkeep jobs cron next digest -n 10")]
    Next {
        /// Its id.
        id: String,
        /// How many times
        #[arg(short, default_value_t = 10)]
        n: u32,
    },
    /// Remove it
    #[command(after_help = "Example:\n  worldkeep jobs cron rm digest --yes")]
    Rm(One),
    /// Fire it now; its times stay as they are
    #[command(after_help = "Example:\n  worldkeep jobs cron fire digest")]
    Fire(One),
}

/// Flags of `jobs cron add`.
#[derive(Debug, Args)]
pub struct CronAdd {
    /// Its id.
    pub id: String,
    /// Five fields, six with leading seconds, or @hourly and the like.
    pub expression: String,
    /// Which handler runs it.
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// JSON [default: {}]
    pub payload: Option<String>,
    /// IANA name [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,
    /// While the firing before is not over: skip drops the next one, queue lets it wait [default: skip]
    #[arg(long, value_name = "POLICY", value_parser = ["skip", "queue"])]
    pub overlap: Option<String>,
}

/// What to do with a worker.
#[derive(Debug, Subcommand)]
pub enum Workers {
    /// Let it finish what it runs and claim nothing more
    #[command(after_help = "Example:\n  worldkeep jobs workers quiet eu-3")]
    Quiet(One),
    /// Let it finish what it runs and end
    #[command(after_help = "Example:\n  worldkeep jobs workers stop eu-3 --yes")]
    Stop(One),
}

/// What to do with the scripts.
#[derive(Debug, Subcommand)]
pub enum Lua {
    /// Write them into a directory, with a README and test vectors
    #[command(after_help = "Example:\n  worldkeep jobs lua export ./bridgemq-lua")]
    Export {
        /// Where to.
        dir: PathBuf,
    },
}

/// A limit, or none.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct LimitFlags {
    /// Jobs that run at once, at most
    #[arg(long, value_name = "N")]
    pub concurrency: Option<u64>,
    /// Jobs that start in a period, at most
    #[arg(long, value_name = "N")]
    pub rate: Option<u64>,
    /// The period of the rate, which slides: 10s, 1m, 1h. A minute unless given
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "rate")]
    pub per: Option<u64>,
    /// Take the limit away
    #[arg(long, conflicts_with_all = ["concurrency", "rate"])]
    pub clear: bool,
}
