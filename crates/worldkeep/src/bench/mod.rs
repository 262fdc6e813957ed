//! `worldkeep bench`: figures that matter to users, measured on their machine, each beside what it is compared
//! with in the same run. Stores are its own: the engine in memory, and a Redis that is started for the run.

mod crowd;
pub(crate) mod galaxy;
pub(crate) mod jobs;
mod line;
mod own_redis;
mod own_server;
mod pace;
mod peers;
pub(crate) mod rooms;
mod stats;
pub(crate) mod trust;
pub(crate) mod worlds;

use serde::Serialize;

/// Hears of each figure as soon as it is there.
pub(crate) type Tell<'a> = dyn FnMut(Figure) + Send + 'a;

/// One line of a report.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// What it should reach, when there is such a bar.
    pub bar: Option<f64>,
    /// Whether it does.
    pub reached: Option<bool>,
}

impl Figure {
    /// Without a bar.
    pub fn plain(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Figure { name: name.into(), value, unit, bar: None, reached: None }
    }

    /// With a least value.
    pub fn at_least(name: impl Into<String>, value: f64, unit: &'static str, bar: f64) -> Self {
        let reached = Some(value >= bar);
        Figure { name: name.into(), value, unit, bar: Some(bar), reached }
    }

    /// With a most value.
    pub fn at_most(name: impl Into<String>, value: f64, unit: &'static str, bar: f64) -> Self {
        let reached = Some(value <= bar);
        Figure { name: name.into(), value, unit, bar: Some(bar), reached }
    }

    /// For people.
    pub fn line(&self) -> String {
        let value = if self.value >= 1000.0 {
            format!("{:.0}", self.value)
        } else {
            format!("{:.2}", self.value)
        };
        let bar = match (self.bar, self.reached) {
            (Some(bar), Some(true)) => format!("   bar {bar}, reached"),
            (Some(bar), _) => format!("   bar {bar}, MISSED"),
            _ => String::new(),
        };
        format!("{:<58} {value:>12} {}{bar}", self.name, self.unit)
    }
}
