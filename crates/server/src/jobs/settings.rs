//! Settings of the jobs.

use jobs::{Catchup, CronFailed, bounds};

use crate::settings::{settings, words};

words!(Catchup { "none" = None, "one" = One, "all" = All });
words!(CronFailed { "letter" = Letter, "alarm" = Alarm });

settings! {
    /// Settings of the job queues.
    pub struct JobsSettings, names, "jobs." {
        namespaces: Vec<String> = "bridge",
            "namespaces of job queues in this store; the first is meant when none is named";
        payload_bytes: usize = "1048576", "largest payload of a job";
        result_bytes: usize = "1048576", "largest result; a larger one is stored as null";
        batch_bytes: usize = "16777216", "largest body of POST /api/jobs:batch";
        retention_s: i64 = "86400", "how long an ended job stays; 0 deletes at once, -1 keeps for ever",
            bounds::RETENTION_S;
        result_ttl_s: u64 = "86400",
            "how long a result stays; with 0 jobs that complete leave none, and why one failed stays for a day",
            bounds::RESULT_TTL_S;
        lock_ttl_s: u32 = "30", "how long a lock lasts unless it is renewed", bounds::LOCK_TTL_S;
        max_waiting: u64 = "0", "waiting jobs beyond which dispatch answers 429; 0 is no limit";
        promote_honours_priority: bool = "false",
            "whether delayed jobs with priority 7 and more go to the front when they are due";
        fair_high: bool = "false", "whether jobs with priority 7 and more run in the order they came";
        starvation_guard: u32 = "0",
            "after so many jobs with priority 7 and more a worker of this server takes one from behind them, 10 is usual; 0 is off",
            bounds::STARVATION_GUARD;
        rotate_unclaimable_s: u32 = "0",
            "seconds after which jobs that no living worker may run go from the head of the queue to its tail; 0 is off",
            bounds::ROTATE_UNCLAIMABLE_S;
        scan_limit: u32 = "1000", "waiting jobs that one claim looks at", bounds::SCAN_LIMIT;
        events: bool = "true", "whether what happens is written to the event stream";
        dlq_max: u64 = "100000", "dead letters that are kept, the newest; 0 keeps all";
        max_recoveries: u32 = "3", "how often a job is taken back from dead workers before it is dead itself";
        cron_instances: bool = "false", "whether each firing of a recurring job is a job of its own";
        cron_catchup: Catchup = "one",
            "what becomes of firings that were missed while no scheduler ran: none, one for all of them, or all (the last 100)";
        cron_failed: CronFailed = "letter",
            "what tells of a firing of a recurring job that failed for good: a dead letter, or an alarm until one completes; it fires on in any case";
        scheduler: bool = "true", "whether this server runs cron, delayed jobs and recovery of its namespaces";
        redact: Vec<String> = "", "names of JSON members that are shown to nobody, such as password,token";
    }
}
