//! Every sentence that the queue says about jobs: why one does not run, what the doctor finds, a schedule in words.

kernel::wordings! {
    NOTHING_STOPS = "jobs.why.nothing", "nothing keeps it from running; a worker takes it with its next claim";
    UNREADABLE = "jobs.why.unreadable", "its stored text is no job; it goes to the dead letters";
    HELD = "jobs.why.held", "the worker {worker} holds it for another {left_ms}";
    DELAYED = "jobs.why.delayed", "it is delayed and runs in {left_ms}";
    DUE = "jobs.why.due", "it is due; the next promotion puts it into the queue";
    DEFINITION = "jobs.why.definition", "it is a definition and waits for its time";
    OVER = "jobs.why.over", "it is over: {status}";
    PARKED = "jobs.why.parked", "it waits for {jobs} to complete";
    BEHIND = "jobs.why.behind", "one job is in front of it", "{n} jobs are in front of it";
    LOST = "jobs.why.lost", "it is in no queue: a foreign worker took it and lost it; it is put back soon";
    PAUSED = "jobs.why.paused", "the type {type} is paused";
    MINUTE_FULL = "jobs.why.minute",
        "one job of its type was started in this minute, and its limit is {most}; {left_ms} are left",
        "{n} jobs of its type were started in this minute, and its limit is {most}; {left_ms} are left";
    RATE_FULL = "jobs.why.rate",
        "one job of its type started in the last {period_ms}, and the type's limit is {most}",
        "{n} jobs of its type started in the last {period_ms}, and the type's limit is {most}";
    FULL = "jobs.why.full",
        "one job of its type runs, and its limit is {most}",
        "{n} jobs of its type run, and its limit is {most}";
    DRIFTED = "jobs.why.drifted",
        "the counter of its type says {counter} and one job runs, with a limit of {most}: it drifted; the scheduler sets it right, and so does `worldkeep jobs doctor --repair`",
        "the counter of its type says {counter} and {n} jobs run, with a limit of {most}: it drifted; the scheduler sets it right, and so does `worldkeep jobs doctor --repair`";
    GROUP_FULL = "jobs.why.group",
        "one job of its group {group} runs, and the limit is {most}",
        "{n} jobs of its group {group} run, and the limit is {most}";
    GROUP_RATE_FULL = "jobs.why.grouprate",
        "one job of its group {group} started in the last {period_ms}, and the limit is {most}",
        "{n} jobs of its group {group} started in the last {period_ms}, and the limit is {most}";
    NO_WORKER = "jobs.why.noworker", "no worker is alive";
    NONE_MAY = "jobs.why.nonemay",
        "the one worker alive may not run it",
        "none of the {n} workers alive may run it";
    NO_HANDLER = "jobs.why.nohandler", "it has no handler for {type}";
    EXCLUDED = "jobs.why.excluded", "it failed here and asked to run elsewhere";
    ONLY = "jobs.why.only", "only the worker {worker} may run it";
    WANTS_ONE = "jobs.why.wantsone", "it wants one of {names}";
    WANTS_ALSO = "jobs.why.wantsalso", "it wants also {names}";

    NOTE_NO_LEASE = "jobs.doctor.nolease",
        "{bare} of {active} active jobs have no lease: workers of other programs ({workers}) claimed them; they are taken back later when such a worker dies";
    LACKS = "jobs.doctor.lacks",
        "lacks one job, {one}: lists do not show it",
        "lacks {n} jobs, such as {one}: lists do not show them";
    NOT_WAITING = "jobs.doctor.notwaiting", "says waiting and is not in the waiting list and not parked";
    NOT_ACTIVE = "jobs.doctor.notactive", "says active and is not in the active set";
    NOT_DELAYED = "jobs.doctor.notdelayed", "says delayed and is not in the delayed set";
    NOT_DEAD = "jobs.doctor.notdead", "says dead and is not in the dead letters";
    NOT_CRON = "jobs.doctor.notcron", "says cron and is not in the cron set";
    MISCOUNTED = "jobs.doctor.miscounted",
        "says {says} and one job is active",
        "says {says} and {n} jobs are active";
    NO_JOB = "jobs.doctor.nojob", "is no job that anybody can run";
    PARKED_FOR_NOTHING = "jobs.doctor.parked", "is parked and waits for nothing any more";
    NO_LOCK = "jobs.doctor.nolock", "is active and nobody holds its lock";
    CONTRADICTED = "jobs.doctor.contradicted", "says {says} and its job is {place}";
    SAYS_NOTHING = "jobs.doctor.saysnothing", "says nothing and its job is {place}";

    CRON_UTC = "cron.utc", "{time}, UTC.";
    CRON_ZONE = "cron.zone", "{time}, {zone} time.";
    CRON_ON = "cron.on", "{time} on {day}";
    CRON_DAILY = "cron.daily", "{time} every day";
    CRON_IN = "cron.in", "{time} in {months}";
    CRON_OR = "cron.or", "{a} or on {b}";
    CRON_BOTH = "cron.both", "{a} {b}";
    CRON_RANGE = "cron.range", "{first} to {last}";
    CRON_AT = "cron.at", "at {times}";
    CRON_EVERY_SECOND = "cron.every.second", "every second", "every {n} seconds";
    CRON_EVERY_MINUTE = "cron.every.minute", "every minute", "every {n} minutes";
    CRON_EVERY_HOUR = "cron.every.hour", "every hour", "every {n} hours";
    CRON_AT_SECOND = "cron.at.second", "at second {list}", "at seconds {list}";
    CRON_AT_MINUTE = "cron.at.minute", "at minute {list}", "at minutes {list}";
    CRON_AT_HOUR = "cron.at.hour", "at hour {list}", "at hours {list}";
    CRON_AT_MINUTE_SECOND = "cron.at.minutesecond", "at minute {minute} and second {second}";
    CRON_OF_MINUTE = "cron.of.minute", "of minute {list}", "of minutes {list}";
    CRON_OF_HOUR = "cron.of.hour", "of hour {list}", "of hours {list}";
    CRON_OF_SOME_HOURS = "cron.of.somehours", "of every hour", "of one hour in {n}";
    CRON_DAYS = "cron.days", "{list}";
    CRON_DAY = "cron.day", "day {list}", "days {list}";
    CRON_LAST_DAY = "cron.lastday", "the last day";
    CRON_OF_MONTH = "cron.ofmonth", "{days} of the month";
    CRON_NTH_1 = "cron.nth.1", "the first {day} of the month";
    CRON_NTH_2 = "cron.nth.2", "the second {day} of the month";
    CRON_NTH_3 = "cron.nth.3", "the third {day} of the month";
    CRON_NTH_4 = "cron.nth.4", "the fourth {day} of the month";
    CRON_NTH_5 = "cron.nth.5", "the fifth {day} of the month";
    CRON_NTH_LAST = "cron.nth.last", "the last {day} of the month";
    SUNDAY = "weekday.0", "Sunday";
    MONDAY = "weekday.1", "Monday";
    TUESDAY = "weekday.2", "Tuesday";
    WEDNESDAY = "weekday.3", "Wednesday";
    THURSDAY = "weekday.4", "Thursday";
    FRIDAY = "weekday.5", "Friday";
    SATURDAY = "weekday.6", "Saturday";
    JANUARY = "month.1", "January";
    FEBRUARY = "month.2", "February";
    MARCH = "month.3", "March";
    APRIL = "month.4", "April";
    MAY = "month.5", "May";
    JUNE = "month.6", "June";
    JULY = "month.7", "July";
    AUGUST = "month.8", "August";
    SEPTEMBER = "month.9", "September";
    OCTOBER = "month.10", "October";
    NOVEMBER = "month.11", "November";
    DECEMBER = "month.12", "December";
}
