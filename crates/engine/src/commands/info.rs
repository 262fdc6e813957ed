//! `INFO`: what the server is, does and holds, in sections.

use std::fmt::Write as _;

use crate::commands::ctx::Ctx;
use crate::commands::table::Run::{self, Plain};
use crate::commands::table::TABLE;
use crate::core::Core;
use crate::error::Outcome;

pub(crate) const HANDLERS: &[(&str, Run)] = &[("info", Plain(info))];

/// A section's name, whether it is shown by default, and its writer.
type Section = (&'static str, bool, fn(&mut Core, &mut String));

const SECTIONS: &[Section] = &[
    ("Server", true, server),
    ("Clients", true, clients),
    ("Memory", true, memory),
    ("Persistence", true, persistence),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("CPU", true, cpu),
    ("Modules", true, |_, _| {}),
    ("Commandstats", false, commandstats),
    ("Errorstats", true, errorstats),
    ("Latencystats", false, latencystats),
    ("Cluster", true, cluster),
    ("Keyspace", true, keyspace),
];

fn info(cx: &mut Ctx<'_>, argv: &[&[u8]]) -> Outcome {
    let wanted: Vec<String> =
        argv[1..].iter().map(|arg| String::from_utf8_lossy(arg).to_ascii_lowercase()).collect();
    let says = |word: &str| wanted.iter().any(|name| name == word);
    let all = says("all") || says("everything");
    let default = wanted.is_empty() || says("default");
    let mut text = String::new();
    for (name, usual, write) in SECTIONS {
        let modules = *name == "Modules";
        let shown = says(&name.to_ascii_lowercase())
            || (all && (!modules || says("everything")))
            || (default && *usual);
        if shown {
            if !text.is_empty() {
                text.push_str("\r\n");
            }
            let _ = write!(text, "# {name}\r\n");
            write(cx.core, &mut text);
        }
    }
    cx.out.verbatim("txt", text.as_bytes());
    Ok(())
}

fn put(text: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = write!(text, "{name}:{value}\r\n");
}

/// Bytes with a unit, as people read them.
fn human(bytes: u64) -> String {
    let units = [("K", 1u64 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];
    match units.iter().rev().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{:.2}{unit}", bytes as f64 / *size as f64),
        None => format!("{bytes}B"),
    }
}

fn server(core: &mut Core, text: &mut String) {
    let up = (core.now - core.stats.started_ms) / 1000;
    put(text, "redis_version", crate::REDIS_VERSION);
    put(text, "redis_git_sha1", "00000000");
    put(text, "redis_git_dirty", 0);
    put(text, "redis_mode", if core.config.cluster { "cluster" } else { "standalone" });
    put(text, "engine_name", "worldkeep-engine");
    put(text, "engine_version", env!("CARGO_PKG_VERSION"));
    put(text, "os", format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    put(text, "arch_bits", usize::BITS);
    put(text, "process_id", std::process::id());
    put(text, "process_supervised", "no");
    put(text, "run_id", &core.admin.run_id);
    put(text, "tcp_port", core.admin.tcp.map_or(0, |addr| addr.port()));
    put(text, "server_time_usec", core.clock.now_us());
    put(text, "uptime_in_seconds", up);
    put(text, "uptime_in_days", up / 86400);
    put(text, "hz", 1000 / core.config.tick.as_millis().max(1));
    put(text, "configured_hz", String::from_utf8_lossy(core.config.text("hz")));
    put(text, "lru_clock", crate::core::access_stamp(core.now));
    put(text, "executable", "");
    put(text, "config_file", "");
    put(text, "io_threads_active", 0);
}

fn clients(core: &mut Core, text: &mut String) {
    let leaving = core.clients.iter().filter(|client| client.closing).count();
    put(text, "connected_clients", core.clients.len() - leaving);
    put(text, "cluster_connections", 0);
    put(text, "maxclients", core.config.maxclients);
    let longest = core.clients.iter().map(|client| client.out.buf.len()).max().unwrap_or(0);
    put(text, "client_recent_max_input_buffer", 0);
    put(text, "client_recent_max_output_buffer", longest);
    put(text, "blocked_clients", core.blocked_clients);
    put(text, "tracking_clients", core.admin.tracking.clients);
    let timed =
        core.clients.iter().filter(|c| c.blocked.as_ref().is_some_and(|b| b.until_ms.is_some()));
    put(text, "clients_in_timeout_table", timed.count());
}

/// The process's resident memory, where the system tells it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

fn memory(core: &mut Core, text: &mut String) {
    let used = core.used_memory();
    let peak = core.admin.memory.peak.max(used);
    let rss = resident().unwrap_or(used);
    let mut sized = |name: &str, bytes: u64| {
        let _ = write!(text, "{name}:{bytes}\r\n{name}_human:{}\r\n", human(bytes));
    };
    sized("used_memory", used);
    sized("used_memory_rss", rss);
    sized("used_memory_peak", peak);
    sized("maxmemory", core.config.maxmemory);
    put(text, "used_memory_peak_perc", format_args!("{:.2}%", used as f64 / peak as f64 * 100.0));
    put(text, "used_memory_overhead", core.overhead());
    put(text, "used_memory_startup", 0);
    put(text, "used_memory_dataset", used.saturating_sub(core.overhead()));
    put(text, "used_memory_dataset_perc", "100.00%");
    put(text, "number_of_cached_scripts", core.script_counts.scripts);
    put(text, "number_of_functions", core.script_counts.functions);
    put(text, "number_of_libraries", core.script_counts.libraries);
    put(text, "maxmemory_policy", String::from_utf8_lossy(core.config.text("maxmemory-policy")));
    put(text, "mem_fragmentation_ratio", format_args!("{:.2}", rss as f64 / used as f64));
    let owed: usize = core.clients.iter().map(|client| client.out.buf.capacity()).sum();
    put(text, "mem_fragmentation_bytes", rss.saturating_sub(used));
    for name in ["not_counted_for_evict", "replication_backlog", "total_replication_buffers"] {
        let _ = write!(text, "mem_{name}:0\r\n");
    }
    put(text, "mem_clients_slaves", 0);
    put(text, "mem_clients_normal", owed);
    put(text, "mem_aof_buffer", 0);
    put(text, "mem_allocator", "system");
    put(text, "active_defrag_running", 0);
    put(text, "lazyfree_pending_objects", 0);
    put(text, "lazyfreed_objects", core.stats.lazyfreed);
}

fn persistence(core: &mut Core, text: &mut String) {
    put(text, "loading", u8::from(core.loading));
    put(text, "async_loading", 0);
    put(text, "current_save_keys_processed", 0);
    put(text, "current_save_keys_total", 0);
    put(text, "rdb_changes_since_last_save", core.dirty);
    put(text, "rdb_bgsave_in_progress", 0);
    put(text, "rdb_last_save_time", core.admin.last_save_s);
    put(text, "rdb_last_bgsave_status", "ok");
    put(text, "rdb_last_bgsave_time_sec", -1);
    put(text, "rdb_current_bgsave_time_sec", -1);
    put(text, "rdb_saves", 0);
    put(text, "aof_enabled", u8::from(core.config.text("appendonly") == b"yes"));
    put(text, "aof_rewrite_in_progress", u8::from(core.admin.rewriting));
    put(text, "aof_rewrite_scheduled", u8::from(core.admin.rewrite_wanted));
    put(text, "aof_last_rewrite_time_sec", -1);
    put(text, "aof_current_rewrite_time_sec", -1);
    let ok = |failed| if failed { "err" } else { "ok" };
    put(text, "aof_last_bgrewrite_status", ok(core.admin.rewrite_failed));
    put(text, "aof_last_write_status", ok(core.write_refusal.is_some()));
}

fn stats(core: &mut Core, text: &mut String) {
    let stats = &core.stats;
    let tracking = &core.admin.tracking;
    for (name, value) in [
        ("total_connections_received", stats.connections),
        ("total_commands_processed", stats.commands),
        ("instantaneous_ops_per_sec", 0),
        ("total_eviction_exceeded_time", 0),
        ("current_eviction_exceeded_time", 0),
        ("io_threaded_reads_processed", 0),
        ("io_threaded_writes_processed", 0),
        ("reply_buffer_shrinks", 0),
        ("reply_buffer_expands", 0),
        ("active_defrag_key_hits", 0),
        ("active_defrag_key_misses", 0),
        ("total_net_input_bytes", stats.input_bytes),
        ("total_net_output_bytes", stats.output_bytes),
        ("rejected_connections", stats.rejected_connections),
        ("sync_full", 0),
        ("sync_partial_ok", 0),
        ("sync_partial_err", 0),
        ("expired_keys", stats.expired_keys),
        ("expired_time_cap_reached_count", 0),
        ("evicted_keys", stats.evicted_keys),
        ("evicted_clients", 0),
        ("keyspace_hits", stats.hits),
        ("keyspace_misses", stats.misses),
        ("pubsub_channels", core.pubsub.channels.len() as u64),
        ("pubsub_patterns", core.pubsub.patterns.len() as u64),
        ("pubsubshard_channels", core.pubsub.shards.len() as u64),
        ("latest_fork_usec", 0),
        ("total_forks", 0),
        ("migrate_cached_sockets", 0),
        ("slave_expires_tracked_keys", 0),
        ("active_defrag_hits", 0),
        ("active_defrag_misses", 0),
        ("tracking_total_keys", tracking.keys() as u64),
        ("tracking_total_items", tracking.items() as u64),
        ("tracking_total_prefixes", tracking.prefixes() as u64),
        ("unexpected_error_replies", 0),
        ("total_error_replies", stats.error_replies),
        ("dump_payload_sanitizations", 0),
        ("total_reads_processed", stats.commands),
        ("total_writes_processed", stats.commands),
    ] {
        put(text, name, value);
    }
}

fn replication(core: &mut Core, text: &mut String) {
    put(text, "role", "master");
    put(text, "connected_slaves", 0);
    put(text, "master_failover_state", "no-failover");
    put(text, "master_replid", &core.admin.run_id);
    put(text, "master_replid2", "0".repeat(40));
    put(text, "master_repl_offset", 0);
    put(text, "second_repl_offset", -1);
    put(text, "repl_backlog_active", 0);
    put(text, "repl_backlog_size", String::from_utf8_lossy(core.config.text("repl-backlog-size")));
    put(text, "repl_backlog_first_byte_offset", 0);
    put(text, "repl_backlog_histlen", 0);
}

/// Seconds the process spent in the system and on its own, where the system tells it.
fn cpu_seconds() -> Option<(f64, f64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let rest = stat.rsplit(')').next()?;
    let mut fields = rest.split_whitespace().skip(11);
    // The unit of this file is a hundredth of a second on every Linux.
    let mut next = || fields.next()?.parse::<f64>().ok().map(|n| n / 100.0);
    let (user, system) = (next()?, next()?);
    Some((system, user))
}

fn cpu(_: &mut Core, text: &mut String) {
    let (system, user) = cpu_seconds().unwrap_or_default();
    put(text, "used_cpu_sys", format_args!("{system:.6}"));
    put(text, "used_cpu_user", format_args!("{user:.6}"));
    put(text, "used_cpu_sys_children", "0.000000");
    put(text, "used_cpu_user_children", "0.000000");
}

fn commandstats(core: &mut Core, text: &mut String) {
    for (spec, stats) in TABLE.specs.iter().zip(&core.stats.per_command) {
        if stats.calls == 0 && stats.rejected == 0 && stats.failed == 0 {
            continue;
        }
        let each = if stats.calls == 0 { 0.0 } else { stats.usec as f64 / stats.calls as f64 };
        let _ = write!(
            text,
            "cmdstat_{}:calls={},usec={},usec_per_call={each:.2},rejected_calls={},failed_calls={}\r\n",
            spec.full_name, stats.calls, stats.usec, stats.rejected, stats.failed
        );
    }
}

fn errorstats(core: &mut Core, text: &mut String) {
    for (code, count) in &core.stats.errors {
        let _ = write!(text, "errorstat_{code}:count={count}\r\n");
    }
}

fn latencystats(core: &mut Core, text: &mut String) {
    let percentiles = core.config.percentiles();
    if percentiles.is_empty() {
        return;
    }
    for (spec, stats) in TABLE.specs.iter().zip(&core.stats.per_command) {
        let Some(times) = &stats.times else { continue };
        let parts: Vec<String> = percentiles
            .iter()
            .map(|p| format!("p{p}={:.3}", times.at_percentile(*p) as f64 / 1000.0))
            .collect();
        let _ = write!(text, "latency_percentiles_usec_{}:{}\r\n", spec.full_name, parts.join(","));
    }
}

fn cluster(core: &mut Core, text: &mut String) {
    put(text, "cluster_enabled", u8::from(core.config.cluster));
}

fn keyspace(core: &mut Core, text: &mut String) {
    let now = core.now;
    for (i, db) in core.dbs.iter().enumerate() {
        if !db.keys.is_empty() {
            let _ = write!(
                text,
                "db{i}:keys={},expires={},avg_ttl={}\r\n",
                db.keys.len(),
                db.keys.expires_len(),
                db.keys.avg_ttl(now)
            );
        }
    }
}

impl Core {
    /// Bytes of tables, without the values.
    pub(crate) fn overhead(&self) -> u64 {
        self.dbs.iter().map(|db| db.keys.memory_bytes() as u64).sum()
    }
}
