//! The scripts, one constant per Lua file, with the shared parts of `scripts/includes/` in place (`build.rs`). Each takes
//! `waiting` as its first key and has the names of the namespace's other keys from it, which share its slot.

pub mod export;

use kernel::Script;

macro_rules! script {
    ($name:literal) => {
        Script::new($name, include_str!(concat!(env!("OUT_DIR"), "/", $name, ".lua")))
    };
}

pub(crate) static ENQUEUE: Script = script!("enqueue");
pub(crate) static ENQUEUE_DEPENDENT: Script = script!("enqueue_dependent");
pub(crate) static FINISH_AND_CLAIM: Script = script!("finish_and_claim");
pub(crate) static RENEW: Script = script!("renew");
pub(crate) static PROGRESS: Script = script!("progress");
pub(crate) static RECLAIM: Script = script!("reclaim");
pub(crate) static RECOVER_ACTIVE: Script = script!("recover_active");
pub(crate) static REQUEUE_ORPHAN: Script = script!("requeue_orphan");
pub(crate) static PROMOTE: Script = script!("promote");
pub(crate) static FIRE_CRON: Script = script!("fire_cron");
pub(crate) static PUT_CRON: Script = script!("put_cron");
pub(crate) static CANCEL: Script = script!("cancel");
pub(crate) static BURY: Script = script!("bury");
pub(crate) static REMOVE: Script = script!("remove");
pub(crate) static ROTATE: Script = script!("rotate");
pub(crate) static REQUEUE: Script = script!("requeue");
pub(crate) static PAUSE: Script = script!("pause");
pub(crate) static RESUME: Script = script!("resume");
pub(crate) static REGISTER: Script = script!("register");
pub(crate) static UNREGISTER: Script = script!("unregister");
pub(crate) static RECONCILE: Script = script!("reconcile");
pub(crate) static QUARANTINE: Script = script!("quarantine");
pub(crate) static RECHECK_DEPENDENCIES: Script = script!("recheck_dependencies");
pub(crate) static REPAIR_STATUS: Script = script!("repair_status");
pub(crate) static PRUNE_MARKS: Script = script!("prune_marks");
pub(crate) static TRIM_DLQ: Script = script!("trim_dlq");

/// All of them.
pub const SCRIPTS: &[&Script] = &[
    &ENQUEUE,
    &ENQUEUE_DEPENDENT,
    &FINISH_AND_CLAIM,
    &RENEW,
    &PROGRESS,
    &RECLAIM,
    &RECOVER_ACTIVE,
    &REQUEUE_ORPHAN,
    &PROMOTE,
    &FIRE_CRON,
    &PUT_CRON,
    &CANCEL,
    &BURY,
    &REMOVE,
    &ROTATE,
    &REQUEUE,
    &PAUSE,
    &RESUME,
    &REGISTER,
    &UNREGISTER,
    &RECONCILE,
    &QUARANTINE,
    &RECHECK_DEPENDENCIES,
    &REPAIR_STATUS,
    &PRUNE_MARKS,
    &TRIM_DLQ,
    &crate::scheduler::LEAD,
];

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
        let known: BTreeSet<String> = includes.into_iter().map(|(name, _)| name).collect();
        assert_eq!(used, known);
        let scripts: BTreeSet<_> = super::SCRIPTS.iter().map(|script| script.name()).collect();
        assert_eq!(scripts, verbs.iter().map(|(name, _)| name.as_str()).collect());
    }

    kernel::scripts_keep_their_headers!(super::SCRIPTS, &[&crate::keys::TABLE]);
}
