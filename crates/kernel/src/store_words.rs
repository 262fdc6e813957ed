//! The sentences about a store: whether it answers, how it keeps its data, and what will hurt, with what to do about it. They
//! are for those who open one.

crate::wordings! {
    pub:
    BUSY = "store.busy", "the store is busy: {why}";
    AWAY = "store.away", "the store does not answer";
    REFUSES = "store.refuses", "the store refuses every write: {why}";
    KEPT_ALWAYS = "store.kept.always", "append-only log, synced at every write";
    KEPT_EVERY_SECOND = "store.kept.everysec", "append-only log, synced every second";
    KEPT_SOMETIMES = "store.kept.no", "append-only log, synced when the system likes";
    KEPT_LOG = "store.kept.log", "append-only log";
    KEPT_NOT = "store.kept.none", "none";
    KEPT_SNAPSHOTS = "store.kept.snapshots", "snapshots only";
    KEPT_NO_LOG = "store.kept.nolog", "no append-only log";
    KEPT_UNKNOWN = "store.kept.unknown", "unknown";
    MEMORY_ONLY = "store.memory", "the data is in memory only and ends with the process: name a directory";
    TORN = "store.torn", "a write torn by a crash was cut from {file}: {bytes} bytes";
    LOADED_WITH_ERRORS = "store.loaderrors",
        "one command of the log answered with an error when loaded",
        "{n} commands of the log answered with an error when loaded";
    INSECURE = "store.insecure", "TLS certificates are not verified (insecure=true): anyone on the way can read and change data; use ?ca=FILE";
    NO_INFO = "store.noinfo", "this user may not run INFO: version, persistence and eviction are not known; `worldkeep acl` prints the rights we need";
    REPLICA = "store.replica", "this server is a replica and refuses writes: name its primary";
    EVICTS = "store.evicts", "maxmemory-policy is {policy}: keys may vanish; set it to noeviction";
    NO_LOG = "store.nolog", "no append-only file: a crash of the server loses what changed since its last snapshot; set appendonly yes";
    TOO_OLD = "store.old", "{server} is older than 7.0, the oldest we test: upgrade";
}
