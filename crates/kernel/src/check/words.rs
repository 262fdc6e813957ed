//! The sentences of the check.

crate::wordings! {
    STRANGER = "check.stranger", "starts like a key of {module} and has no definition";
    OTHER_LAYOUT = "check.other_layout", "is spelled in the other layout; {layout} is in use";
    ENDS = "check.ends", "ends in {left_ms} and should never end";
    ENDLESS = "check.endless", "never ends and should";
    ENDS_LATE = "check.ends_late", "ends in {left_ms}; at most {most_ms} are right";
    WRONG_TYPE = "check.wrong_type", "is a {is}, not a {right}";
    BAD_VALUE = "check.bad_value", "{why}";
    OTHER_END = "check.other_end", "does not end together with {holder}";
    NO_ID = "check.no_id", "holds an entry that is no id";
    DANGLING = "check.dangling", "holds an entry for {target}, which does not exist";
    IN_USE = "check.in_use", "offers an id that {target} has";
    TWICE = "check.twice", "offers an id twice";
    MISPLACED = "check.misplaced", "holds an entry that belongs into {belongs}";
    MISSING = "check.missing", "is not listed in {place}";
    ORPHAN = "check.orphan", "is nothing without {target}";
    UNLISTED = "check.unlisted", "says {word} and is in none of {places}";
    SAYS_NOT = "check.says_not", "does not say {member}";
    SAYS_NO_KEY = "check.says_no_key", "says what is no key: {why}";
}
