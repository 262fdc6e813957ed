//! The sentences of the galaxy: what its check finds, and the alarms of its engine.

kernel::wordings! {
    NO_TIME = "galaxy.check.notime", "“{value}” is no time of ISO 8601";
    NOT_IN_RANGE = "galaxy.check.range", "“{value}” is not from 0.1 to 100";
    NO_FLAG = "galaxy.check.noflag", "“{value}” is neither true nor false";
    NO_NUMBER = "galaxy.check.nonumber", "“{value}” is no number";
    CUT_SHORT = "galaxy.check.cutshort", "the restore of snapshot {id} was cut short; start a server with its database";
    UNREADABLE = "galaxy.check.unreadable", "{why}";
    NO_SHIP_ID = "galaxy.check.noshipid", "“{value}” is no ship's id";
    NO_SHIP = "galaxy.check.noship", "names {key}, which does not exist";
    OTHERS_SHIP = "galaxy.check.othersship", "names {key}, of {owner}";
    OTHER_SOCKETS = "galaxy.check.othersockets", "counts other sockets than the servers have";
    NO_LEASE = "galaxy.check.nolease", "belongs to a server without a lease";
    EMPTIED = "galaxy.alarm.emptied",
        "the store has lost the world; nothing is ticked or written. If it is the same store, put the last snapshot back (`worldkeep galaxy snapshot list`, then `restore ID`) or set galaxy.restore = auto; if it is another one, start with a --data of its own";
    FOREIGN = "galaxy.alarm.foreign",
        "the store belongs to another database of accounts; nothing is ticked or written. Start with the --data or the galaxy.database_url that belongs to this store";
}
