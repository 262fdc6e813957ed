//! One figure of a report: its name, its value, and the bar it is held to where there is one.

use serde::Serialize;

/// Hears of each figure as soon as it is there.
pub(crate) type Tell<'a> = dyn FnMut(Figure) + Send + 'a;

/// One line of a report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    /// The thing that was measured.
    pub(crate) name: String,
    /// How much.
    pub(crate) value: f64,
    /// Of what.
    pub(crate) unit: &'static str,
    /// The bar, when there is one.
    pub(crate) bar: Option<f64>,
    /// Whether it does.
    pub(crate) reached: Option<bool>,
}

impl Figure {
    /// Without a bar.
    pub(crate) fn plain(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Figure { name: name.into(), value, unit, bar: None, reached: None }
    }

    /// With a least value.
    pub(crate) fn at_least(
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        bar: f64,
    ) -> Self {
        let reached = Some(value >= bar);
        Figure { name: name.into(), value, unit, bar: Some(bar), reached }
    }

    /// With a most value.
    pub(crate) fn at_most(
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        bar: f64,
    ) -> Self {
        let reached = Some(value <= bar);
        Figure { name: name.into(), value, unit, bar: Some(bar), reached }
    }

    /// For people.
    pub(crate) fn line(&self) -> String {
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
