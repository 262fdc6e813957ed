//! Keys of the job queue (seed 004). `ns` is the namespace, `bridge` in the seed; tagged, it is the hash tag,
//! unless it brings one. Own keys are the names that the seed's program reserved, and `{ns}:x:`.

pub(crate) mod space;

use kernel::keyspace::{Belongs, Held, Index, Life, Named, Placed, Secrecy};

/// The life of the values that an ended job leaves behind.
const RETAINED: Life =
    Life::Sometimes("none while the job lives; one day after it completed or failed");

/// Entries that are job ids.
const fn jobs(held: Held, named: Named) -> Index {
    Index { names: "data", fills: "job_id", held, named, complete: None }
}

const fn placed(word: &'static str, in_any: &'static [&'static str]) -> Placed {
    Placed { word, in_any, entry: "job_id" }
}

kernel::keyspace! {
    module = "jobs" by "ns",
    seed = Some("004"),
    about = "A job queue with routing, cron, rate limits and recovery.",
    // A key of the module starts with a namespace, which is configuration.
    prefixes = &[],
    ;

    /// A worker: stack, region, capabilities, last seen.
    seed worker(ns: Namespace, server_id: Host) = "{ns}:workers:{serverId}", Json, Life::None,
        reserved = &[("server_id", &["active", "heartbeat"])];
    /// A worker's sign of life: Unix ms, renewed every ten seconds.
    seed heartbeat(ns: Namespace, server_id: Host) = "{ns}:workers:heartbeat:{serverId}", Int,
        Life::Secs(30);
    /// Ids of all registered workers.
    seed workers_active(ns: Namespace) = "{ns}:workers:active", Set, Life::None,
        index = Some(Index {
            names: "worker", fills: "server_id", held: Held::Members, named: Named::Live,
            complete: Some(&[]),
        });

    /// A job: type, payload, schedule, retry, target, attempts.
    seed data(ns: Namespace, job_id: JobId) = "{ns}:jobs:data:{jobId}", Json, RETAINED,
        secrecy = Secrecy::Payloads,
        remedy = Some("worldkeep jobs rm {job_id} --ns {ns}");
    /// A job's state, as a bare word.
    seed status(ns: Namespace, job_id: JobId) = "{ns}:jobs:status:{jobId}", String, RETAINED,
        belongs = Some(Belongs { to: "data", with: &[], drop: false }),
        placed = &[
            placed("waiting", &["waiting", "parked"]), placed("active", &["active"]),
            placed("delayed", &["delayed"]), placed("cron", &["cron"]),
            placed("dead", &["deadletter"]),
        ];
    /// What became of the last attempt.
    seed result(ns: Namespace, job_id: JobId) = "{ns}:jobs:result:{jobId}", Json,
        Life::Secs(86_400), secrecy = Secrecy::Payloads;
    /// Which worker runs the job.
    seed lock(ns: Namespace, job_id: JobId) = "{ns}:jobs:lock:{jobId}", String,
        Life::Computed("the lock's time, 30 seconds unless configured, renewed by its worker");
    /// How far a running job is.
    seed progress(ns: Namespace, job_id: JobId) = "{ns}:jobs:progress:{jobId}", Json,
        Life::Sometimes("none while the job runs; one day after its end"),
        secrecy = Secrecy::Payloads;

    /// Ids of the jobs that are ready, the next one at the head.
    seed waiting(ns: Namespace) = "{ns}:jobs:waiting", List, Life::None,
        index = Some(jobs(Held::Members, Named::Live));
    /// Ids of the jobs in progress.
    seed active(ns: Namespace) = "{ns}:jobs:active", Set, Life::None,
        index = Some(jobs(Held::Members, Named::Live));
    /// Ids of the jobs for later: score = Unix ms at which they run.
    seed delayed(ns: Namespace) = "{ns}:jobs:delayed", Zset, Life::None,
        index = Some(jobs(Held::Members, Named::Live));
    /// Ids of the recurring jobs: score = Unix ms at which they fire next.
    seed cron(ns: Namespace) = "{ns}:jobs:cron", Zset, Life::None,
        index = Some(jobs(Held::Members, Named::Live));
    /// Ids of the jobs that failed for good, the newest first.
    seed deadletter(ns: Namespace) = "{ns}:jobs:deadletter", List, Life::None,
        index = Some(jobs(Held::Members, Named::Live));

    /// How many jobs of a type run now.
    seed concurrent(ns: Namespace, job_type: JobType) = "{ns}:ratelimit:concurrent:{jobType}", Int,
        Life::None;
    /// How many jobs of a type were claimed in this minute.
    seed minute(ns: Namespace, job_type: JobType) = "{ns}:ratelimit:minute:{jobType}", Int,
        Life::Secs(60);
    /// Job types that are paused.
    seed paused(ns: Namespace) = "{ns}:queues:paused", Set, Life::None;
    /// Which scheduler leads.
    seed scheduler_lock(ns: Namespace) = "{ns}:scheduler:lock", String, Life::Secs(30);

    /// Jobs that ended well, ever.
    own metrics_processed(ns: Namespace) = "{ns}:metrics:jobs:processed", Int, Life::None;
    /// Jobs that ended badly, ever.
    own metrics_failed(ns: Namespace) = "{ns}:metrics:jobs:failed", Int, Life::None;
    /// Milliseconds spent in handlers, ever.
    own metrics_time(ns: Namespace) = "{ns}:metrics:processing:time", Int, Life::None;
    /// The leading scheduler for display: id, host, pid, since when, digest of its scripts.
    own scheduler_leader(ns: Namespace) = "{ns}:scheduler:leader", Json, Life::Secs(30);
    /// What happened to the namespace's jobs.
    own events(ns: Namespace) = "{ns}:events:stream", Stream, Life::None;

    /// How often a job was taken back from a dead worker: field = job id.
    own recoveries(ns: Namespace) = "{ns}:x:recoveries", Hash, Life::None,
        index = Some(jobs(Held::Fields, Named::Any));
    /// When each active job was claimed and by whom: field = job id, value Unix ms, the worker and the type, with spaces
    /// between them.
    own claimed(ns: Namespace) = "{ns}:x:claimed", Hash, Life::None,
        index = Some(jobs(Held::Fields, Named::Live));
    /// When claimed jobs were last looked through for lost ones: Unix ms.
    own swept(ns: Namespace) = "{ns}:x:swept", Int, Life::Secs(60);
    /// Told after each insertion into `waiting`: the job's type.
    own wake(ns: Namespace) = "{ns}:x:wake", Channel, Life::None;
    /// Told to abort a running job: its id.
    own cancel(ns: Namespace) = "{ns}:x:cancel", Channel, Life::None;
    /// Told to a worker: `quiet`, `stop` or `ping` (asks for a sign of life), a space, its id.
    own control(ns: Namespace) = "{ns}:x:control", Channel, Life::None;
    /// What each worker was asked to do, for one that missed the message: field = worker, value `quiet` or `stop`.
    own asked(ns: Namespace) = "{ns}:x:asked", Hash, Life::None;
    /// Told when a job's progress was written: its id, a space, the progress.
    own progressed(ns: Namespace) = "{ns}:x:progress", Channel, Life::None;
    /// Ids of active jobs whose cancellation was asked for.
    own cancelled(ns: Namespace) = "{ns}:x:cancelled", Set, Life::None,
        index = Some(jobs(Held::Members, Named::Any));
    /// The job that holds a uniqueness key.
    own unique(ns: Namespace, digest: Host) = "{ns}:x:unique:{digest}", String,
        Life::Computed("the uniqueness window");
    /// What a parked job still waits for.
    own deps(ns: Namespace, job_id: JobId) = "{ns}:x:deps:{jobId}", Set, Life::None,
        index = Some(jobs(Held::Members, Named::Any));
    /// Jobs that wait for this one; in a flow, its parent.
    own children(ns: Namespace, job_id: JobId) = "{ns}:x:children:{jobId}", Set, Life::None,
        index = Some(jobs(Held::Members, Named::Any));
    /// Ids of the jobs that wait for others.
    own parked(ns: Namespace) = "{ns}:x:parked", Set, Life::None,
        index = Some(jobs(Held::Members, Named::Live));
    /// How the children of a job in a flow ended: field = job id, value status, a space, the result. A handler reads it when the
    /// children's own results may be gone.
    own flow(ns: Namespace, job_id: JobId) = "{ns}:x:flow:{jobId}", Hash, RETAINED,
        secrecy = Secrecy::Payloads,
        belongs = Some(Belongs { to: "data", with: &[], drop: true });
    /// Outcomes of one day per type.
    own stats(ns: Namespace, day: Day) = "{ns}:x:stats:{day}", Hash, Life::Secs(90 * 86_400);
    /// Counters and callback of a batch.
    own batch(ns: Namespace, batch_id: Host) = "{ns}:x:batch:{batchId}", Hash,
        Life::Sometimes("none while the batch runs; it may expire after its end");
    /// Claims of a type in the last minute, where its jobs ask for a sliding limit: score = Unix ms.
    own slide(ns: Namespace, job_type: JobType) = "{ns}:x:slide:{jobType}", Zset, Life::Secs(60);
    /// Limits on types, set at run time: field = type, value JSON with `concurrency`, `rate` and `periodMs`.
    own limits(ns: Namespace) = "{ns}:x:limits", Hash, Life::None;
    /// Claims of a type in the period of the limit that was set on it: score = Unix ms.
    own rate(ns: Namespace, job_type: JobType) = "{ns}:x:rate:{jobType}", Zset,
        Life::Computed("the period of the limit");
    /// The line of groups that have jobs in `waiting`: score = their turn. An index, made anew from what claims meet.
    own groups(ns: Namespace) = "{ns}:x:groups", Zset, Life::None;
    /// Jobs of a group in `waiting`, the next one first. Part of the same index.
    own group(ns: Namespace, group: JobType) = "{ns}:x:group:{group}", Zset, Life::None;
    /// Limits on groups: field = group, or `*` for each that has none of its own; value JSON as in `x:limits`.
    own group_limits(ns: Namespace) = "{ns}:x:group_limits", Hash, Life::None;
    /// Jobs of a limited group that were claimed; those that do not run any more are dropped at the limit.
    own group_runs(ns: Namespace, group: JobType) = "{ns}:x:group_runs:{group}", Set,
        Life::Secs(86_400);
    /// Claims of a group in the period of its limit: score = Unix ms.
    own group_rate(ns: Namespace, group: JobType) = "{ns}:x:group_rate:{group}", Zset,
        Life::Computed("the period of the limit");
    /// The last job of each sequence: field = sequence, value = job id.
    own sequences(ns: Namespace) = "{ns}:x:sequences", Hash, Life::None;
    /// Stretches of `waiting` whose jobs were passed over: place, number, first and last job, and their classes. A memory that
    /// every claim checks; without it the list is read.
    own passed(ns: Namespace) = "{ns}:x:passed", String, Life::Secs(600);
    /// Definitions whose last firing failed for good, as an alarm: field = job id, value Unix ms.
    own cron_failed(ns: Namespace) = "{ns}:x:cron_failed", Hash, Life::None,
        index = Some(jobs(Held::Fields, Named::Any));
    /// All jobs in the order of their dispatch, for lists: `at` is the time in Unix ms, `ids` has one per line.
    own index(ns: Namespace) = "{ns}:x:index", Stream, Life::None;
    /// How far the index was looked through for jobs that are gone: entry, Unix ms of the next look, jobs found alive.
    own index_trim(ns: Namespace) = "{ns}:x:index:trim", String, Life::Secs(3600);
    /// Types paused until a time: score = Unix ms at which they resume.
    own paused_until(ns: Namespace) = "{ns}:x:paused_until", Zset, Life::None;
}
