//! The values that an option or a setting may have. A module declares the bounds of each once; its own check, the
//! table of settings and its page all read them.

use std::fmt;
use std::ops::RangeInclusive;

/// A range of numbers, and perhaps one number outside of it that switches something off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    least: f64,
    most: f64,
    also: Option<f64>,
}

impl Bounds {
    /// Both ends are allowed.
    pub const fn within(range: RangeInclusive<f64>) -> Self {
        Bounds { least: *range.start(), most: *range.end(), also: None }
    }

    /// One more value that is allowed.
    #[must_use]
    pub const fn or(self, also: f64) -> Self {
        Bounds { also: Some(also), ..self }
    }

    /// Whether a value is allowed.
    pub fn hold(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value) || self.also == Some(value)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.most {
            f64::INFINITY => write!(f, "{} or more", self.least)?,
            most => write!(f, "{} to {most}", self.least)?,
        }
        self.also.map_or(Ok(()), |also| write!(f, ", or {also}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Bounds;

    #[test]
    fn both_ends_and_the_one_beside_are_allowed() {
        let bounds = Bounds::within(5.0..=86_400.0).or(0.0);
        for (value, fine) in [(0.0, true), (4.0, false), (5.0, true), (86_400.0, true)] {
            assert_eq!(bounds.hold(value), fine, "{value}");
        }
        assert!(!bounds.hold(86_401.0) && !bounds.hold(f64::NAN));
        assert_eq!(bounds.to_string(), "5 to 86400, or 0");
        assert_eq!(Bounds::within(0.1..=f64::INFINITY).to_string(), "0.1 or more");
    }
}
