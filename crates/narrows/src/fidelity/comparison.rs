//! One comparison: what is compared with what, and how near it should be.

use serde::Deserialize;

use super::quantity::Quantity;
use super::texts::SCENARIOS;
use super::theory;
use crate::diagnostic::Checked;
use crate::document::Document;
use crate::repro::Verdict;

/// A value that a source gives, and where Narrows has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Comparison {
    /// Its name, `part.what`; it never changes.
    pub id: String,
    /// Its subject.
    pub title: String,
    /// Where the value stands, or the formula.
    pub source: String,
    /// The scenario it begins with.
    pub scenario: String,
    /// Changes of it, `path=value`.
    pub set: Vec<String>,
    /// More changes for the quick form; without them the quick form leaves it out.
    pub quick: Option<Vec<String>>,
    /// The directed link it is about, `from -> to`.
    pub port: Option<String>,
    /// Measured quantity.
    pub measure: Quantity,
    /// The unit of all its values; empty for fractions and ratios.
    pub unit: String,
    /// Expected value.
    pub expected: Expected,
    /// Band of values that match.
    pub band: Band,
    /// Why the band is as wide as that.
    pub why: String,
    /// Note on a miss, if it is known to miss.
    pub miss: Option<String>,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// The source says it.
    Reported(f64),
    /// The formula of this name gives it from the settings of the scenario.
    Theory(String),
}

/// Between which values a measured one should be, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// So far below and above the expected value, as fractions of it: -0.05 and 0.05.
    Around(f64, f64),
    /// From the one to the other, whatever is expected.
    Between(f64, f64),
}

impl Band {
    /// Its ends.
    pub fn ends(self, expected: f64) -> (f64, f64) {
        match self {
            Self::Around(below, above) => (expected * (1.0 + below), expected * (1.0 + above)),
            Self::Between(least, most) => (least, most),
        }
    }
}

/// A comparison as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    title: String,
    source: String,
    scenario: String,
    #[serde(default)]
    set: Vec<String>,
    quick: Option<Vec<String>>,
    port: Option<String>,
    measure: Quantity,
    #[serde(default)]
    unit: String,
    /// Value in the source.
    reported: Option<f64>,
    /// The formula.
    theory: Option<String>,
    /// A band in fractions of what is expected.
    around: Option<(f64, f64)>,
    /// A band in the unit.
    between: Option<(f64, f64)>,
    why: String,
    miss: Option<String>,
}

impl TryFrom<Written> for Comparison {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let expected = match (written.reported, written.theory) {
            (Some(reported), None) if reported.is_finite() => Expected::Reported(reported),
            (None, Some(theory)) => Expected::Theory(theory),
            _ => return Err("either `reported` or `theory` says what is expected"),
        };
        let band = match (written.around, written.between) {
            (Some((below, above)), None) => Band::Around(below, above),
            (None, Some((least, most))) => Band::Between(least, most),
            _ => return Err("either `around` or `between` says how near it should be"),
        };
        let makes_sense = match (band, &expected) {
            (Band::Around(..), Expected::Reported(0.0)) => false,
            (Band::Around(below, above), _) => (-1.0..=0.0).contains(&below) && (0.0..=10.0).contains(&above),
            (Band::Between(least, most), Expected::Reported(value)) => (least..=most).contains(value),
            (Band::Between(least, most), _) => least <= most,
        };
        if !makes_sense {
            return Err("the band does not hold what is expected");
        }
        let Written { id, title, source, scenario, set, quick, port, measure, unit, why, miss, .. } = written;
        Ok(Self { id, title, source, scenario, set, quick, port, measure, unit, expected, band, why, miss })
    }
}

impl Comparison {
    /// Its scenario, or the quick form of that.
    ///
    /// # Errors
    /// None; comparisons are tested.
    pub fn document(&self, quick: bool) -> Checked<Document> {
        let found = SCENARIOS.iter().find(|(name, _)| *name == self.scenario);
        let (name, text) = found.unwrap_or_else(|| panic!("{}: no scenario {}", self.id, self.scenario));
        let mut document = Document::parse(&format!("fidelity/scenarios/{name}.toml"), *text, "")?;
        let quick = self.quick.iter().flatten().filter(|_| quick);
        for assignment in self.set.iter().chain(quick) {
            document.set(assignment)?;
        }
        Ok(document)
    }

    /// Whether a value is in the band around what is expected. Nothing measured is a miss.
    pub fn judge(&self, expected: f64, measured: Option<f64>) -> Verdict {
        let (least, most) = self.band.ends(expected);
        match measured {
            Some(measured) if (least..=most).contains(&measured) => Verdict::Match,
            _ => Verdict::Miss,
        }
    }

    /// The verdict that is known of it.
    pub fn known(&self) -> Verdict {
        if self.miss.is_some() { Verdict::Miss } else { Verdict::Match }
    }

    /// Its formula; none if a source says the value.
    pub fn formula(&self) -> Option<&'static str> {
        match &self.expected {
            Expected::Reported(_) => None,
            Expected::Theory(name) => Some(theory::find(name).text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(rest: &str) -> Option<Comparison> {
        let head = "id = \"a.b\"\ntitle = \"t\"\nsource = \"s\"\nscenario = \"path\"\nwhy = \"w\"\nmeasure = \"jain\"\n";
        toml::from_str(&format!("{head}{rest}")).ok()
    }

    #[test]
    fn a_band_has_two_sides_and_its_ends_belong_to_it() {
        let around = comparison("reported = 100.0\naround = [-0.1, 0.2]").unwrap();
        use Verdict::{Match, Miss};
        let found = [Some(89.9), Some(90.0), Some(120.0), Some(120.1), Some(f64::NAN), None];
        assert_eq!(found.map(|found| around.judge(100.0, found)), [Miss, Match, Match, Miss, Miss, Miss]);
        let between = comparison("reported = 2.0\nbetween = [1.0, 5.0]").unwrap();
        let found = [Some(0.9), Some(1.0), Some(5.0), Some(5.1)];
        assert_eq!(found.map(|found| between.judge(2.0, found)), [Miss, Match, Match, Miss]);
    }

    #[test]
    fn comparisons_that_make_no_sense_are_refused() {
        let wrong = [
            "reported = 1.0",
            "around = [-0.1, 0.1]",
            "reported = 1.0\ntheory = \"x\"\naround = [-0.1, 0.1]",
            "reported = 0.0\naround = [-0.1, 0.1]",
            "reported = 1.0\naround = [0.1, 0.2]",
            "reported = 1.0\naround = [-0.1, -0.05]",
            "reported = 1.0\nbetween = [1.1, 1.2]",
            "reported = 1.0\naround = [-0.1, 0.1]\nbetween = [0.0, 2.0]",
            "reported = nan\naround = [-0.1, 0.1]",
            "reported = 1.0\naround = [-0.1, 0.1]\nverdict = \"match\"",
        ];
        for wrong in wrong {
            assert_eq!(comparison(wrong), None, "{wrong}");
        }
    }
}
