//! Flags of `worldkeep jobs dispatch`, and how times are read.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

/// Flags of `jobs dispatch`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["kind", "file"])))]
pub struct Dispatch {
    /// Which handler runs it.
    #[arg(value_name = "TYPE")]
    pub kind: Option<String>,
    /// JSON, or - to read it from the input [default: {}]
    pub payload: Option<String>,
    /// Jobs as the API takes them: one JSON per line, or a list
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    pub file: Option<PathBuf>,
    /// Id to use [default: a new one]
    #[arg(long)]
    pub id: Option<String>,
    /// 1 to 10; 7 and more go to the front [default: 5]
    #[arg(long)]
    pub priority: Option<u8>,
    /// Run after this: 500ms, 90s, 15m, 2h, 3d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub delay: Option<u64>,
    /// Run at this time: 2030-01-01T18:00:00Z or Unix milliseconds
    #[arg(long, value_name = "WHEN", value_parser = instant)]
    pub at: Option<i64>,
    /// Recurring jobs have a verb of their own.
    #[arg(long, hide = true, value_name = "EXPRESSION", value_parser = recurring)]
    pub cron: Option<String>,
    /// Retries after a failure [default: 3]
    #[arg(long, value_name = "N")]
    pub attempts: Option<u32>,
    /// Pause before a retry: fixed, linear or exponential, and the first one, such as fixed:5s
    #[arg(long, value_name = "KIND:TIME")]
    pub backoff: Option<String>,
    /// Only on this worker
    #[arg(long, value_name = "WORKER")]
    pub on: Option<String>,
    /// Only on workers of this stack; may be repeated
    #[arg(long)]
    pub stack: Vec<String>,
    /// Only on workers that can do this; may be repeated
    #[arg(long)]
    pub capability: Vec<String>,
    /// Only on workers in this region; may be repeated
    #[arg(long)]
    pub region: Vec<String>,
    /// The worker must have every capability that is named, not one of them
    #[arg(long)]
    pub all: bool,
    /// At most so many of this type at once
    #[arg(long, value_name = "N")]
    pub max_concurrent: Option<u64>,
    /// At most so many of this type in a minute
    #[arg(long, value_name = "N")]
    pub max_per_minute: Option<u64>,
    /// Refuse it while another job holds this key
    #[arg(long, value_name = "KEY")]
    pub unique: Option<String>,
    /// How long that key holds [default: 1 day]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "unique")]
    pub unique_for: Option<u64>,
    /// Run once, this long after the last job with this key: KEY:TIME, such as index:5s
    #[arg(long, value_name = "KEY:TIME", conflicts_with_all = ["unique", "throttle", "delay", "at"])]
    pub debounce: Option<String>,
    /// Refuse all but the first job with this key in a time: KEY:TIME, such as mail-42:1h
    #[arg(long, value_name = "KEY:TIME", conflicts_with = "unique")]
    pub throttle: Option<String>,
    /// Wait for this job first; may be repeated
    #[arg(long, value_name = "ID")]
    pub depends_on: Vec<String>,
    /// Cancel an attempt after this
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub run_timeout: Option<u64>,
    /// Take turns with other groups under this name, such as a customer
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Run after all jobs of this sequence that were dispatched before, also over their retries
    #[arg(long, value_name = "NAME")]
    pub sequence: Option<String>,
    /// JSON object kept with the job
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
    /// Wait for its end and print the result
    #[arg(long)]
    pub wait: bool,
}

/// What `--cron` answers: whoever looks for it here learns where it is.
fn recurring(_: &str) -> Result<String, String> {
    Err("a recurring job is made with `worldkeep jobs cron add ID EXPRESSION TYPE [PAYLOAD]`"
        .into())
}

/// `500ms`, `90s`, `15m`, `2h`, `3d`, or plain milliseconds.
pub(crate) fn duration(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("write a number with ms, s, m, h or d, such as 90s".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "write it like 90s, 15m or 2h".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "that is too long".to_owned())
}

/// A time as RFC 3339 or Unix milliseconds.
fn instant(text: &str) -> Result<i64, String> {
    if let Ok(ms) = text.parse() {
        return Ok(ms);
    }
    let at: Result<jiff::Timestamp, _> = text.parse();
    at.map(jiff::Timestamp::as_millisecond)
        .map_err(|_| "write it like 2030-01-01T18:00:00Z, or as Unix milliseconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(duration("250"), Ok(250));
        assert_eq!(duration("90s"), Ok(90_000));
        assert_eq!(duration("15m"), Ok(900_000));
        assert!(duration("5 weeks").is_err() && duration("s").is_err() && duration("-1s").is_err());
        assert!(duration("99999999999999999d").is_err());
        assert_eq!(instant("1970-01-01T00:00:01Z"), Ok(1000));
        assert_eq!(instant("5"), Ok(5));
        assert!(instant("tomorrow").is_err());
    }
}
