//! The rules of a job as values: retries after a failure, the workers that may run it, how many run
//! at once. They are written as the seed has them and read tolerantly.

use serde::Serialize;
use serde_json::value::RawValue;

use super::raw::Object;

/// How the wait between retries grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BackoffKind {
    /// Always `delay`.
    Fixed,
    /// `delay` times the number of the retry.
    Linear,
    /// Twice as long each time.
    #[default]
    Exponential,
}

/// The wait between retries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backoff {
    /// How it grows. A word that other programs made up reads as `fixed`.
    #[serde(rename = "type")]
    pub kind: BackoffKind,
    /// Milliseconds before the first retry.
    pub delay: u64,
    /// Milliseconds at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<u64>,
    /// Whether to spread it by up to a quarter.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub jitter: bool,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff { kind: BackoffKind::Exponential, delay: 2_000, max_delay: None, jitter: false }
    }
}

impl Backoff {
    fn read(raw: Option<&RawValue>) -> Self {
        let object = Object::of(raw);
        let kind = match object.get::<String>("type").as_deref() {
            None | Some("exponential") => BackoffKind::Exponential,
            Some("linear") => BackoffKind::Linear,
            Some(_) => BackoffKind::Fixed,
        };
        Backoff {
            kind,
            delay: object.count("delay").unwrap_or(2_000),
            max_delay: object.count("maxDelay").filter(|max| *max > 0),
            jitter: object.get("jitter").unwrap_or(false),
        }
    }
}

/// The rules after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// Retries, not executions: 3 means up to 4 executions.
    pub attempts: u32,
    /// The wait before each.
    pub backoff: Backoff,
    /// Names of errors after which the job is dead at once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip_on: Vec<String>,
    /// Names of errors after which another worker must try.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reroute_on: Vec<String>,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            attempts: 3,
            backoff: Backoff::default(),
            skip_on: Vec::new(),
            reroute_on: Vec::new(),
        }
    }
}

/// The default as it is stored: most jobs have it, and it need not be read.
pub(super) const USUAL: &str = r#"{"attempts":3,"backoff":{"type":"exponential","delay":2000}}"#;

impl Retry {
    pub(super) fn read(raw: Option<&RawValue>) -> Self {
        if raw.is_some_and(|raw| raw.get() == USUAL) {
            return Retry::default();
        }
        let object = Object::of(raw);
        let attempts = object.count("attempts").and_then(|count| u32::try_from(count).ok());
        Retry {
            attempts: attempts.unwrap_or(3),
            backoff: Backoff::read(object.raw("backoff")),
            skip_on: object.words("skipOn"),
            reroute_on: object.words("rerouteOn"),
        }
    }
}

/// How the entries of one criterion combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One shared entry is enough.
    #[default]
    Any,
    /// Every capability is needed; the worker's first stack and region are listed.
    All,
}

/// Which workers may run a job. Criteria that are empty do not count; all others must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Target {
    /// Only this worker; every other criterion is then ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Stacks such as `node`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// The capabilities that the worker needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// The regions in which the worker may be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub region: Vec<String>,
    /// How entries combine; `any` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
}

impl Target {
    /// Any worker.
    pub fn any() -> Self {
        Target::default()
    }

    /// Only the worker of this id.
    #[must_use]
    pub fn server(mut self, server_id: impl Into<String>) -> Self {
        self.server = Some(server_id.into());
        self
    }

    /// One more stack.
    #[must_use]
    pub fn stack(mut self, stack: impl Into<String>) -> Self {
        self.stack.push(stack.into());
        self
    }

    /// One more capability.
    #[must_use]
    pub fn capability(mut self, capability: impl Into<String>) -> Self {
        self.capabilities.push(capability.into());
        self
    }

    /// One more region.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region.push(region.into());
        self
    }

    /// Every capability is needed.
    #[must_use]
    pub fn all(mut self) -> Self {
        self.mode = Some(Mode::All);
        self
    }

    pub(super) fn read(raw: Option<&RawValue>) -> Self {
        let object = Object::of(raw);
        let mode = match object.get::<String>("mode").as_deref() {
            None => None,
            Some("any") => Some(Mode::Any),
            // Any other text is `all`, as the seed's script has it.
            Some(_) => Some(Mode::All),
        };
        Target {
            server: object.get::<String>("server").filter(|server| !server.is_empty()),
            stack: object.words("stack"),
            capabilities: object.words("capabilities"),
            region: object.words("region"),
            mode,
        }
    }
}

/// Limits that a job asks for; the counters are those of its type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// Jobs of the type that may run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u64>,
    /// Jobs of the type that may be claimed in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_minute: Option<u64>,
}

impl RateLimit {
    pub(super) fn read(raw: Option<&RawValue>) -> Option<Self> {
        let object = Object::of(raw);
        let limit = RateLimit {
            max_concurrent: object.count("maxConcurrent"),
            max_per_minute: object.count("maxPerMinute"),
        };
        (limit != RateLimit::default()).then_some(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_retry_is_the_default_as_it_is_stored() {
        assert_eq!(serde_json::to_string(&Retry::default()).unwrap(), USUAL);
        let spaced: Box<RawValue> = serde_json::from_str(&USUAL.replace(':', ": ")).unwrap();
        assert_eq!(Retry::read(Some(&spaced)), Retry::default());
    }
}
