//! The scripts, one constant per Lua file, with the shared parts of `scripts/includes/`. Each takes `waiting` as its
//! first key and has the names of the namespace's other keys from it, which share its slot; `lead` has its own keys.

pub(crate) mod bundle;
pub mod export;

kernel::scripts! {
    parts: [
        "after_failure", "append_event", "check_types", "claim_behind_high", "claim_job",
        "claim_next", "close_flow", "close_job", "close_ranks", "count_end", "count_group_runs",
        "count_running", "dead_firing", "dead_letter", "drop_progress", "end_job", "fail_dependent",
        "failure_result", "find_unmet", "finish_attempt", "finish_attempts", "follows",
        "group_line", "hand_back", "index_jobs", "is_flow", "is_high", "is_readable",
        "is_same_process", "join_group", "join_sequence", "matches_target", "note_child",
        "open_memory", "open_turns", "park_job", "passed_over", "peek_job", "peek_limits",
        "place_job", "promote_parked", "push_waiting", "raise_alarm", "rate_limit", "read_job",
        "read_limit", "read_state", "recall_passed", "recover_job", "rejoin_flow",
        "release_dependents", "requeue_job", "resume_scan", "retry_job", "see_type", "starts",
        "take_out", "take_turn", "take_unique_key", "type_body", "type_json", "unpark_job",
        "wake_workers", "why_not",
    ];
    pub(crate) ENQUEUE = "enqueue";
    pub(crate) ENQUEUE_DEPENDENT = "enqueue_dependent";
    pub(crate) FINISH_AND_CLAIM = "finish_and_claim";
    pub(crate) RENEW = "renew";
    pub(crate) PROGRESS = "progress";
    pub(crate) RECLAIM = "reclaim";
    pub(crate) RECOVER_ACTIVE = "recover_active";
    pub(crate) REQUEUE_ORPHAN = "requeue_orphan";
    pub(crate) PROMOTE = "promote";
    pub(crate) FIRE_CRON = "fire_cron";
    pub(crate) PUT_CRON = "put_cron";
    pub(crate) CANCEL = "cancel";
    pub(crate) BURY = "bury";
    pub(crate) REMOVE = "remove";
    pub(crate) ROTATE = "rotate";
    pub(crate) REQUEUE = "requeue";
    pub(crate) PAUSE = "pause";
    pub(crate) RESUME = "resume";
    pub(crate) LIMIT = "limit";
    pub(crate) JOIN_GROUPS = "join_groups";
    pub(crate) REGISTER = "register";
    pub(crate) UNREGISTER = "unregister";
    pub(crate) RECONCILE = "reconcile";
    pub(crate) QUARANTINE = "quarantine";
    pub(crate) RECHECK_DEPENDENCIES = "recheck_dependencies";
    pub(crate) REPAIR_STATUS = "repair_status";
    pub(crate) PRUNE_MARKS = "prune_marks";
    pub(crate) TRIM_DLQ = "trim_dlq";
    pub(crate) TRIM_INDEX = "trim_index";
    pub(crate) LEAD = "lead";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::{fs, path::Path};

    const INCLUDE: &str = "--- @include \"";

    /// Name and text of every Lua file of a folder.
    fn files(folder: &str) -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let lua = paths.filter(|path| path.extension().is_some_and(|end| end == "lua"));
        let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        lua.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
    }

    #[test]
    fn scripts_are_short_and_every_include_is_used() {
        let (verbs, includes) = (files("scripts"), files("scripts/includes"));
        let mut used = BTreeSet::new();
        for (name, text) in verbs.iter().chain(&includes) {
            let body = text.lines().skip_while(|line| line.starts_with("--"));
            assert!(body.count() <= 120, "{name} is too long");
            let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix(INCLUDE));
            used.extend(lines.map(|line| line.trim_end_matches('"').to_owned()));
        }
        used.remove("append_to"); // the kernel's
        let known: BTreeSet<String> = includes.into_iter().map(|(name, _)| name).collect();
        assert_eq!(used, known);
        let scripts: BTreeSet<_> = super::SCRIPTS.iter().map(|script| script.name()).collect();
        assert_eq!(scripts, verbs.iter().map(|(name, _)| name.as_str()).collect());
    }
}
