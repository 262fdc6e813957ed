//! Errors of handlers, which say how a failed attempt goes on.

use std::time::Duration;

use crate::model::Failure;

/// How a failed attempt goes on. Any error becomes [`JobError::Retry`] by `?`, named after its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobError {
    /// Again, after the job's own backoff, while it has attempts left.
    Retry(Failure),
    /// Again after that long, while it has attempts left.
    RetryAfter(Duration, Failure),
    /// Again after that long; this uses no attempt.
    Snooze(Duration),
    /// Never again, and not in the dead letters: the job ends as `failed`.
    Discard(Failure),
    /// Never again: to the dead letters at once.
    Dead(Failure),
}

impl JobError {
    /// Again, after the job's own backoff. `name` is what `skipOn` and `rerouteOn` compare.
    pub fn retry(name: impl Into<String>, message: impl Into<String>) -> JobError {
        JobError::Retry(Failure::new(name, message))
    }

    /// Again after that long.
    pub fn retry_after(
        wait: Duration,
        name: impl Into<String>,
        message: impl Into<String>,
    ) -> JobError {
        JobError::RetryAfter(wait, Failure::new(name, message))
    }

    /// Again after that long, without using an attempt.
    pub fn snooze(wait: Duration) -> JobError {
        JobError::Snooze(wait)
    }

    /// Never again; the job ends as `failed`.
    pub fn discard(name: impl Into<String>, message: impl Into<String>) -> JobError {
        JobError::Discard(Failure::new(name, message))
    }

    /// To the dead letters at once.
    pub fn dead(name: impl Into<String>, message: impl Into<String>) -> JobError {
        JobError::Dead(Failure::new(name, message))
    }
}

impl<E: std::error::Error> From<E> for JobError {
    fn from(error: E) -> JobError {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            message = format!("{message}: {inner}");
            cause = inner.source();
        }
        JobError::retry(short_name(std::any::type_name::<E>()), message)
    }
}

/// `std::io::error::Error` is `Error`, `my::Wrapped<a::B>` is `Wrapped`.
fn short_name(full: &str) -> &str {
    let plain = full.split('<').next().unwrap_or(full);
    plain.rsplit("::").next().unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_error_becomes_a_retry_named_after_its_type() {
        let error: JobError = "x".parse::<u8>().expect_err("no number").into();
        let JobError::Retry(failure) = error else { panic!("{error:?}") };
        assert_eq!(failure.name, "ParseIntError");
        assert_eq!(failure.message, "invalid digit found in string");
        assert_eq!(short_name("my::Wrapped<a::B>"), "Wrapped");
    }
}
