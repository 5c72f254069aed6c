//! Which values settings accept. A range is declared where it is checked, and nowhere else: a check takes the first value that is
//! out of its range for a mistake and declares, on its way there, the ranges of all settings before it. A check of settings that are
//! in order, such as the defaults, declares all.

use std::fmt;

use crate::units::Span;

/// A setting outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting} = {found}, expected {expected}")]
pub struct OutOfRange {
    /// Name of the field.
    pub setting: &'static str,
    /// Value it was set to.
    pub found: String,
    /// The accepted range.
    pub expected: &'static str,
}

/// The ranges that a check has declared, in its order.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<Range>);

/// Accepted range of a setting, which may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Name of the field.
    pub setting: &'static str,
    /// The accepted range.
    pub expected: &'static str,
}

impl Ranges {
    /// Declares that `setting` accepts `expected`, and checks that the value `found` does.
    ///
    /// # Errors
    /// If it does not.
    pub fn unless(
        &mut self,
        in_range: bool,
        setting: &'static str,
        found: impl fmt::Display,
        expected: &'static str,
    ) -> Result<(), OutOfRange> {
        self.0.push(Range { setting, expected });
        if in_range { Ok(()) } else { Err(OutOfRange { setting, found: found.to_string(), expected }) }
    }

    /// Refuses the span of a timer that is so short that a run would do nothing else: below 100 ns.
    ///
    /// # Errors
    /// If it is.
    pub fn timer(&mut self, setting: &'static str, span: Span) -> Result<(), OutOfRange> {
        self.unless(span >= Span::from_ns(100), setting, span, "at least 100 ns")
    }

    /// Accepted range of the setting of this name, if one was declared: its first.
    pub fn of(&self, setting: &str) -> Option<&'static str> {
        self.0.iter().find(|range| range.setting == setting).map(|range| range.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_passes_declares_every_range() {
        let mut ranges = Ranges::default();
        let check = |ranges: &mut Ranges, gain: f64| {
            ranges.unless(gain > 0.0, "gain", gain, "above 0")?;
            ranges.unless(gain < 2.0, "gain", gain, "below 2")?;
            ranges.timer("interval", Span::from_us(1))
        };
        assert_eq!(check(&mut ranges, 1.0), Ok(()));
        assert_eq!(
            ["gain", "interval", "rate"].map(|name| ranges.of(name)),
            [Some("above 0"), Some("at least 100 ns"), None]
        );
        let refused = check(&mut Ranges::default(), 2.0).expect_err("too large");
        assert_eq!((refused.setting, refused.expected), ("gain", "below 2"));
    }
}
