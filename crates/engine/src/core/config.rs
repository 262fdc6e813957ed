//! Settings that `CONFIG GET` and `CONFIG SET` know. The texts are kept as Redis shows them; those that the
//! engine acts on are also fields, which the hot path reads.

use std::time::Duration;

use crate::core::evict::{By, Policy};
use crate::core::notify;
use crate::core::settings::{self, OutputLimits, SETTINGS};
use crate::data::{Counting, Limits, num};
use crate::log::Fsync;

/// Settings in the form the hot path reads.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) databases: usize,
    pub(crate) limits: Limits,
    /// Bytes up to which a `HyperLogLog` stays sparse.
    pub(crate) hll_sparse_max: usize,
    /// Bits of `notify::class`.
    pub(crate) notify_flags: u32,
    /// Bytes; 0 for no limit.
    pub(crate) maxmemory: u64,
    /// The eviction policy when the limit is reached; `None` evicts nothing.
    pub(crate) policy: Option<Policy>,
    /// Keys to choose from.
    pub(crate) samples: usize,
    /// Uses of keys are counted, as the policy asks.
    pub(crate) counting: Option<Counting>,
    pub(crate) proto_max_bulk_len: usize,
    /// One-node Cluster answers and `CROSSSLOT` checks.
    pub(crate) cluster: bool,
    /// Bytes that may wait for a slow subscriber before it is closed.
    pub(crate) pubsub_buffer_max: usize,
    /// Microseconds; negative for no slow log.
    pub(crate) slowlog_slower_than: i64,
    pub(crate) slowlog_max_len: usize,
    /// Milliseconds; 0 for no monitoring.
    pub(crate) latency_threshold_ms: i64,
    pub(crate) latency_tracking: bool,
    /// Seconds a client may be idle; 0 for ever.
    pub(crate) idle_timeout_s: i64,
    pub(crate) maxclients: usize,
    /// Milliseconds after which a running script makes others be told BUSY.
    pub(crate) busy_reply_threshold_ms: u64,
    pub(crate) acllog_max_len: usize,
    /// New users may use all channels.
    pub(crate) acl_all_channels: bool,
    pub(crate) output_limits: OutputLimits,
    /// Replicas without which nothing may be written.
    pub(crate) min_replicas: i64,
    pub(crate) tracking_table_max_keys: usize,
    /// `auto-aof-rewrite-min-size`.
    pub(crate) rewrite_min_bytes: u64,
    /// `auto-aof-rewrite-percentage`; 0 for never.
    pub(crate) rewrite_percent: u64,
    /// Bytes of calls that may wait to be whole.
    pub(crate) query_buffer_max: usize,
    /// Without a password only this machine may connect.
    pub(crate) protected_mode: bool,
    /// Seconds of silence after which a peer is asked whether it is there; 0 for never.
    pub(crate) tcp_keepalive_s: u64,
    pub(crate) fsync: Fsync,
    /// How often what is due is looked for.
    pub(crate) tick: Duration,
    /// The text of every setting, in the order of `SETTINGS`.
    texts: Vec<Vec<u8>>,
}

impl Default for Config {
    fn default() -> Self {
        let texts: Vec<Vec<u8>> = SETTINGS.iter().map(|s| s.default.as_bytes().to_vec()).collect();
        let mut config = Config {
            databases: 16,
            limits: Limits::default(),
            hll_sparse_max: 3000,
            notify_flags: 0,
            maxmemory: 0,
            policy: None,
            samples: 5,
            counting: None,
            proto_max_bulk_len: 512 << 20,
            cluster: false,
            pubsub_buffer_max: 32 << 20,
            slowlog_slower_than: 10_000,
            slowlog_max_len: 128,
            latency_threshold_ms: 0,
            latency_tracking: true,
            idle_timeout_s: 0,
            maxclients: 10_000,
            busy_reply_threshold_ms: 5000,
            acllog_max_len: 128,
            acl_all_channels: false,
            output_limits: OutputLimits::default(),
            min_replicas: 0,
            tracking_table_max_keys: 1_000_000,
            rewrite_min_bytes: 64 << 20,
            rewrite_percent: 100,
            query_buffer_max: 1 << 30,
            protected_mode: true,
            tcp_keepalive_s: 300,
            fsync: Fsync::default(),
            tick: Duration::from_millis(100),
            texts,
        };
        for place in 0..SETTINGS.len() {
            config.apply(place);
        }
        config
    }
}

impl Config {
    /// The settings of an engine opened with these options.
    pub(crate) fn opened(databases: usize, cluster: bool) -> Self {
        let mut config = Config::default();
        config.set_text("databases", databases.to_string().as_bytes());
        config.set_text("cluster-enabled", if cluster { b"yes" } else { b"no" });
        config.databases = databases;
        config.cluster = cluster;
        config
    }

    /// The text of a setting that exists.
    pub(crate) fn text(&self, name: &str) -> &[u8] {
        let place = settings::find(name.as_bytes()).expect("a setting's name in the code is right");
        &self.texts[place]
    }

    /// The text at a place of `SETTINGS`.
    pub(crate) fn text_at(&self, place: usize) -> &[u8] {
        &self.texts[place]
    }

    /// Sets a text without asking whether it may be changed, and acts on it.
    pub(crate) fn set_text(&mut self, name: &str, text: &[u8]) {
        let place = settings::find(name.as_bytes()).expect("a setting's name in the code is right");
        self.set_at(place, text.to_vec());
    }

    /// Sets a checked text and acts on it.
    pub(crate) fn set_at(&mut self, place: usize, text: Vec<u8>) {
        self.texts[place] = text;
        self.apply(place);
    }

    /// Brings a text into the field that the engine reads.
    fn apply(&mut self, place: usize) {
        let text = &self.texts[place];
        let int = || num::parse_i64(text).unwrap_or(i64::MAX);
        let size = || usize::try_from(int()).unwrap_or(usize::MAX);
        let yes = || text == b"yes";
        match SETTINGS[place].name {
            "hash-max-listpack-entries" => self.limits.hash_max_listpack_entries = size(),
            "hash-max-listpack-value" => self.limits.hash_max_listpack_value = size(),
            "hll-sparse-max-bytes" => self.hll_sparse_max = size(),
            "set-max-intset-entries" => self.limits.set_max_intset_entries = size(),
            "zset-max-listpack-entries" => self.limits.zset_max_listpack_entries = size(),
            "zset-max-listpack-value" => self.limits.zset_max_listpack_value = size(),
            "stream-node-max-bytes" => self.limits.stream_node_max_bytes = size(),
            "stream-node-max-entries" => self.limits.stream_node_max_entries = size(),
            "notify-keyspace-events" => {
                self.notify_flags = notify::parse_flags(text).unwrap_or_default();
            }
            "maxmemory" => {
                self.maxmemory =
                    std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).unwrap_or(u64::MAX);
            }
            "maxmemory-policy" => {
                self.policy = Policy::parse(text);
                self.set_counting();
            }
            "maxmemory-samples" => self.samples = size(),
            "lfu-log-factor" | "lfu-decay-time" => self.set_counting(),
            "proto-max-bulk-len" => self.proto_max_bulk_len = size(),
            "slowlog-log-slower-than" => self.slowlog_slower_than = int(),
            "slowlog-max-len" => self.slowlog_max_len = size(),
            "latency-monitor-threshold" => self.latency_threshold_ms = int(),
            "latency-tracking" => self.latency_tracking = yes(),
            "timeout" => self.idle_timeout_s = int(),
            "maxclients" => self.maxclients = size(),
            "busy-reply-threshold" => {
                self.busy_reply_threshold_ms = u64::try_from(int()).unwrap_or(u64::MAX);
            }
            "acllog-max-len" => self.acllog_max_len = size(),
            "acl-pubsub-default" => self.acl_all_channels = text == b"allchannels",
            "min-replicas-to-write" | "min-replicas-max-lag" => {
                let number = |name| num::parse_i64(self.text(name)).unwrap_or_default();
                // As in Redis, a lag of 0 asks for nothing.
                let asks = number("min-replicas-max-lag") > 0;
                self.min_replicas = if asks { number("min-replicas-to-write") } else { 0 };
            }
            "client-query-buffer-limit" => self.query_buffer_max = size(),
            "protected-mode" => self.protected_mode = yes(),
            "tcp-keepalive" => self.tcp_keepalive_s = size() as u64,
            "appendfsync" => {
                let known = [Fsync::Always, Fsync::EverySecond, Fsync::No];
                let named = known.into_iter().find(|fsync| fsync.word().as_bytes() == text);
                self.fsync = named.unwrap_or_default();
            }
            "hz" => self.tick = Duration::from_millis(1000 / int().clamp(1, 500).unsigned_abs()),
            "tracking-table-max-keys" => self.tracking_table_max_keys = size(),
            "auto-aof-rewrite-min-size" => self.rewrite_min_bytes = size() as u64,
            "auto-aof-rewrite-percentage" => self.rewrite_percent = size() as u64,
            "client-output-buffer-limit" => {
                self.output_limits = OutputLimits::parse(text).unwrap_or_default();
                let hard = self.output_limits.0[2].hard;
                self.pubsub_buffer_max = usize::try_from(hard).unwrap_or(usize::MAX);
            }
            _ => {}
        }
    }

    fn set_counting(&mut self) {
        let number = |name| num::parse_i64(self.text(name)).and_then(|n| u32::try_from(n).ok());
        let (factor, decay_minutes) = (number("lfu-log-factor"), number("lfu-decay-time"));
        let counted = self.policy.is_some_and(|policy| policy.by == By::Lfu);
        self.counting = counted.then_some(Counting {
            factor: factor.unwrap_or(10),
            decay_minutes: decay_minutes.unwrap_or(1),
        });
    }

    /// The percentiles that `INFO latencystats` shows.
    pub(crate) fn percentiles(&self) -> Vec<f64> {
        let text = self.text("latency-tracking-info-percentiles");
        text.split(|b| *b == b' ').filter_map(num::parse_f64).collect()
    }
}
