//! Looks at what answers: program, version, persistence, eviction, role; and says what will hurt, with
//! what to do about it. A user without the right to ask gets fewer facts, not a failure.

use std::borrow::Cow;

use kernel::store_words as words;
use kernel::{Deadline, Said, Value};

use crate::multiplexer::Multiplexer;
use crate::reply;

/// Facts that a server tells about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerFacts {
    pub(crate) server: String,
    pub(crate) cluster: bool,
    pub(crate) persistence: Said,
    pub(crate) eviction: String,
    pub(crate) warnings: Vec<Said>,
}

/// `INFO` and two settings in one round trip. A user of a role of its own may not ask for settings, and each try would
/// be an entry of the server's `ACL LOG`: `worldkeep acl` gives that right to `worldkeep` alone.
pub(crate) async fn ask(
    multiplexer: &Multiplexer,
    user: Option<&str>,
    by: Deadline,
) -> Option<ServerFacts> {
    let mut bytes = redis::cmd("INFO").get_packed_command();
    let may_ask = matches!(user, None | Some("default" | "worldkeep"));
    let settings: &[&str] = if may_ask { &["appendfsync", "save"] } else { &[] };
    for setting in settings {
        redis::cmd("CONFIG").arg("GET").arg(*setting).write_packed_command(&mut bytes);
    }
    let values = multiplexer.ask(bytes.into(), 1 + settings.len(), by).await.ok()?;
    let setting = |value: Option<&Value>| match value {
        Some(Value::Array(pair)) => pair.get(1).and_then(reply::text).map(Cow::into_owned),
        _ => None,
    };
    let info = values.first().and_then(reply::text).unwrap_or_default().into_owned();
    Some(judge(&info, setting(values.get(1)).as_deref(), setting(values.get(2)).as_deref()))
}

fn judge(info: &str, fsync: Option<&str>, save: Option<&str>) -> ServerFacts {
    let find = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap_or("")
    };
    if find("redis_version").is_empty() {
        return ServerFacts {
            server: "unknown".to_owned(),
            cluster: false,
            persistence: words::KEPT_UNKNOWN.say(),
            eviction: "unknown".to_owned(),
            warnings: vec![words::NO_INFO.say()],
        };
    }
    let valkey = find("valkey_version");
    let version = if valkey.is_empty() { find("redis_version") } else { valkey };
    let program = if valkey.is_empty() { "redis" } else { "valkey" };
    let log = find("aof_enabled") == "1";
    let eviction = find("maxmemory_policy");
    let mut warnings = Vec::new();
    if find("role") == "slave" {
        warnings.push(words::REPLICA.say());
    }
    if !matches!(eviction, "noeviction" | "") {
        warnings.push(words::EVICTS.say().with("policy", eviction));
    }
    if !log {
        warnings.push(words::NO_LOG.say());
    }
    let major: u32 = version.split('.').next().and_then(|part| part.parse().ok()).unwrap_or(0);
    if major < 7 {
        warnings.push(words::TOO_OLD.say().with("server", format!("{program} {version}")));
    }
    ServerFacts {
        server: format!("{program} {version}"),
        cluster: find("redis_mode") == "cluster" || find("server_mode") == "cluster",
        persistence: persistence(log, fsync, save),
        eviction: eviction.to_owned(),
        warnings,
    }
}

/// How a server keeps its data, by its settings.
pub(crate) fn persistence(log: bool, fsync: Option<&str>, save: Option<&str>) -> Said {
    let kept = match (log, fsync, save) {
        (true, Some("always"), _) => words::KEPT_ALWAYS,
        (true, Some("everysec"), _) => words::KEPT_EVERY_SECOND,
        (true, Some("no"), _) => words::KEPT_SOMETIMES,
        (true, ..) => words::KEPT_LOG,
        (false, _, Some("")) => words::KEPT_NOT,
        (false, _, Some(_)) => words::KEPT_SNAPSHOTS,
        (false, _, None) => words::KEPT_NO_LOG,
    };
    kept.say()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\naof_enabled:1\r\nmaxmemory_policy:noeviction\r\n";

    #[test]
    fn a_well_kept_server_draws_no_warning() {
        let facts = judge(GOOD, Some("everysec"), Some(""));
        assert_eq!(facts.server, "redis 7.0.15");
        assert_eq!(facts.persistence.sentence(), "append-only log, synced every second");
        assert_eq!(facts.warnings, Vec::new());
        assert!(!facts.cluster);
    }

    #[test]
    fn what_will_hurt_is_said_with_what_to_do() {
        let bad = GOOD
            .replace("7.0.15", "5.0.1")
            .replace("aof_enabled:1", "aof_enabled:0")
            .replace("noeviction", "allkeys-lru")
            .replace("role:master", "role:slave");
        let facts = judge(&bad, None, Some("900 1"));
        assert_eq!(facts.persistence.sentence(), "snapshots only");
        assert_eq!(facts.warnings.len(), 4, "{:?}", facts.warnings);
        let evicts = facts.warnings[1].sentence();
        assert!(evicts.contains("allkeys-lru: keys may vanish; set it to noeviction"), "{evicts}");
    }

    #[test]
    fn valkey_says_its_own_version() {
        let text = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\nserver_mode:cluster\r\n";
        let facts = judge(text, None, None);
        assert_eq!(facts.server, "valkey 9.1.2");
        assert!(facts.cluster);
    }

    #[test]
    fn a_user_without_rights_is_told_which_facts_are_missing() {
        assert_eq!(judge("", None, None).warnings.len(), 1);
    }
}
