//! The fields of an expression as sets of small numbers. A field that holds its whole range is unrestricted.

use jiff::civil::Date;

/// A set of numbers of one range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    bits: u64,
    low: i8,
    high: i8,
}

impl Field {
    pub(super) fn none(low: i8, high: i8) -> Field {
        Field { bits: 0, low, high }
    }

    pub(super) fn all(low: i8, high: i8) -> Field {
        let mut field = Field::none(low, high);
        (low..=high).for_each(|value| field.add(value));
        field
    }

    pub(super) fn add(&mut self, value: i8) {
        debug_assert!((self.low..=self.high).contains(&value), "the parser checks ranges");
        self.bits |= 1 << value;
    }

    pub(super) fn has(self, value: i8) -> bool {
        (0..64).contains(&value) && self.bits & (1 << value) != 0
    }

    /// The smallest member from `value` on.
    pub(super) fn from(self, value: i8) -> Option<i8> {
        let rest = if (0..64).contains(&value) { self.bits >> value << value } else { 0 };
        let found = i8::try_from(rest.trailing_zeros()).ok()?;
        (rest != 0).then_some(found)
    }

    pub(super) fn is_all(self) -> bool {
        self == Field::all(self.low, self.high)
    }

    pub(super) fn is_empty(self) -> bool {
        self.bits == 0
    }

    pub(super) fn values(self) -> Vec<i8> {
        (self.low..=self.high).filter(|value| self.has(*value)).collect()
    }

    /// The step of `*/n`, when the members are every n-th from the start of the range.
    pub(super) fn step(self) -> Option<i8> {
        let values = self.values();
        let step = values.get(1)? - values.first()?;
        let every = (self.low..=self.high).step_by(usize::try_from(step).ok()?);
        (step > 1 && every.eq(values.iter().copied())).then_some(step)
    }
}

/// Which days: by number, by weekday, or either when both are restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    /// 1 to 31.
    pub(super) numbers: Field,
    /// `L`: the last day of the month.
    pub(super) last: bool,
    /// 0 to 6, Sunday is 0.
    pub(super) weekdays: Field,
    /// Weekdays of which the last in a month counts: `5L`.
    pub(super) last_weekdays: Field,
    /// `1#2`: bit n of element d is the n-th weekday d of a month.
    pub(super) nth: [u8; 7],
}

impl Days {
    pub(super) fn by_number(&self) -> bool {
        self.last || !self.numbers.is_all()
    }

    pub(super) fn by_weekday(&self) -> bool {
        !self.weekdays.is_all()
    }

    pub(super) fn has(&self, date: Date) -> bool {
        match (self.by_number(), self.by_weekday()) {
            (true, true) => self.number(date) || self.weekday(date),
            (true, false) => self.number(date),
            (false, true) => self.weekday(date),
            (false, false) => true,
        }
    }

    fn number(&self, date: Date) -> bool {
        self.numbers.has(date.day()) || (self.last && date.day() == date.days_in_month())
    }

    fn weekday(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        let nth = (date.day() - 1) / 7 + 1;
        self.weekdays.has(weekday)
            || (self.last_weekdays.has(weekday) && date.day() + 7 > date.days_in_month())
            || usize::try_from(weekday).is_ok_and(|at| self.nth[at] & (1 << nth) != 0)
    }

    /// Whether no month of these has such a day. A weekday comes in every month, a fifth one in some year.
    pub(super) fn never(&self, months: Field) -> bool {
        const LONGEST: [i8; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        if self.last || self.by_weekday() || !self.by_number() {
            return false;
        }
        let first = self.numbers.from(1).unwrap_or(32);
        let shorter = |(month, longest): (i8, &i8)| !months.has(month) || *longest < first;
        (1..=12).zip(&LONGEST).all(shorter)
    }
}
