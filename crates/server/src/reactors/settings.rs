//! Settings of the reactors.

use reactors::{HitPolicy, PersistRule};

use crate::settings::{settings, words};

words!(HitPolicy { "upstream" = Upstream, "strict" = Strict });
words!(PersistRule { "matched" = Matched, "any" = Any });

settings! {
    /// Settings of the reactors.
    pub struct ReactorsSettings, names, "reactors." {
        catalogue: Option<String> = "",
            "file or directory of reactor templates, read again when it changes; empty is the shipped set";
        hit_policy: HitPolicy = "upstream",
            "whether a hit that fits no reaction destroys (upstream) or does nothing (strict)";
        persist_rule: PersistRule = "matched",
            "which ends leave a reactor standing: by the reaction that matched, or by any of its reactions";
        item_delay_ms: u64 = "5000",
            "how long an item lies on a reactor before it is taken; also ITEM_REACTOR_ACTIVATION_DELAY_MS";
    }
}
