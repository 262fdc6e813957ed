//! Refusals of jobs on HTTP, as data: code, status, what to do.

crate::reply::errors! {
    pub(crate) table;
    INVALID_BODY = "invalid_body", 400, "the body is not a job; `/docs` shows the fields";
    UNKNOWN_FIELD = "unknown_field", 400, "no such field of a job; `field` names it, put own data into `metadata`";
    INVALID_ID = "invalid_id", 400, "a job id is 1 to 128 of `A-Z a-z 0-9 . _ ~ - :` and does not end like a verb";
    INVALID_TYPE = "invalid_type", 400, "a type is 1 to 200 bytes without control characters and does not end like a verb";
    INVALID_PAYLOAD = "invalid_payload", 400, "the payload is not JSON, or nested deeper than 100";
    INVALID_PRIORITY = "invalid_priority", 400, "a priority is a whole number from 1 to 10";
    INVALID_SCHEDULE = "invalid_schedule", 400, "the schedule is not an object";
    INVALID_DELAY = "invalid_delay", 400, "a delay is milliseconds from 0 to ten years";
    INVALID_RUN_AT = "invalid_run_at", 400, "runAt is Unix milliseconds";
    CONFLICTING = "conflicting_schedule", 400, "give one of delay, runAt and cron";
    INVALID_CRON = "invalid_cron", 400, "the cron expression cannot be read or never fires; the message names the part";
    INVALID_TIMEZONE = "invalid_timezone", 400, "no such time zone; use an IANA name such as Europe/Paris";
    INVALID_RETRY = "invalid_retry", 400, "attempts go from 0 to 1000; backoff is fixed, linear or exponential with a delay from 0";
    INVALID_RATE_LIMIT = "invalid_rate_limit", 400, "limits are whole numbers from 1; pause the type to stop it";
    INVALID_TARGET = "invalid_target", 400, "a target has lists of up to 64 texts, and mode any or all";
    INVALID_DEPENDENCY = "invalid_dependency", 400, "dependsOn is a list of up to 1000 job ids";
    UNKNOWN_DEPENDENCY = "unknown_dependency", 400, "a job named in dependsOn does not exist";
    INVALID_UNIQUE = "invalid_unique", 400, "unique has a key of 1 to 512 bytes and a window in milliseconds";
    INVALID_X = "invalid_x", 400, "a member of `x` is of the wrong kind; `field` names it";
    INVALID_METADATA = "invalid_metadata", 400, "metadata is an object";
    INVALID_NAMESPACE = "invalid_namespace", 400, "a namespace cannot be spelled so";
    NO_VERB = "no_such_verb", 404, "no such verb behind the last colon; `/docs` lists them";
    NO_NAMESPACE = "no_such_namespace", 404, "this server does not serve that namespace; add it to jobs.namespaces";
    NO_JOB = "no_such_job", 404, "no job has this id; it may have ended and been removed";
    NO_WORKER = "no_such_worker", 404, "no worker is registered under this id";
    NO_CRON = "no_such_cron", 404, "no recurring job has this id";
    EXISTS = "job_exists", 409, "a job has this id already (`details.jobId`); choose another or leave it out";
    NOT_UNIQUE = "not_unique", 409, "another job (`details.jobId`) holds this unique key";
    WRONG_STATE = "wrong_state", 409, "the job's state (`details.status`) does not allow it";
    FULL = "queue_full", 429, "as many jobs wait as jobs.max_waiting allows; wait `Retry-After` seconds";
    WRONG_TYPE = "wrong_type", 500, "a key (`details.key`) holds another type than it should; nothing was changed, `worldkeep check` shows it";
    NEEDS_TAG = "needs_tag", 503, "on a Cluster the namespace needs a hash tag: start with --layout tagged";
}
