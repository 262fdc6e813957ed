//! Wall-clock time of this process, for stamps on tokens and sessions.

/// Unix milliseconds.
#[allow(clippy::disallowed_methods)] // The one place of this crate that reads the wall clock.
pub(crate) fn now_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
