//! Claims of a paper in numbers, and whether they hold.

use serde::{Deserialize, Serialize};

use super::name::parts;
use super::places::{Explanation, Place, places};

/// Something a paper says, or the project expects.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name; it never changes.
    pub id: String,
    /// The figure or table it belongs to.
    pub figure: String,
    /// Where it is said.
    pub source: String,
    /// Statement in words.
    pub statement: String,
    /// Measured quantity: `group.row.column`.
    pub quantity: String,
    /// Divisor of the quantity; then the claim is about the ratio.
    pub over: Option<String>,
    /// Unit of the quantity; × of a ratio.
    pub unit: String,
    /// Expected value, bound or order.
    pub expected: Expected,
    /// Required accuracy.
    pub class: Class,
    /// The paper does not say it: the project expects it.
    pub own: bool,
    /// Why it is not counted, if it is not.
    pub not_counted: Option<String>,
    /// Note on a miss. In braces stand quantities that test it.
    pub note: Option<String>,
    /// Under which other set-up it would hold.
    pub explained: Option<Explanation>,
}

/// Expected value, bound or order of a quantity, or of the ratio of two.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// This value, from both sides.
    Value {
        /// The value; may be infinite.
        reported: f64,
        /// Largest accepted deviation of the measured value, in its unit.
        tolerance: f64,
        /// The tolerance is not that of the class.
        own_tolerance: bool,
    },
    /// At least or at most this much, or both.
    Bound {
        /// It may be reached.
        least: Option<f64>,
        /// It may be reached.
        most: Option<f64>,
    },
    /// A ratio above 1.
    More,
    /// A ratio below 1.
    Less,
}

/// Accuracy that a claim requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Within 10 %.
    Exact,
    /// Within 30 %.
    Size,
    /// On one side of a bound, or between two.
    Bound,
    /// One quantity beside another: only which is larger.
    Order,
}

/// Whether a claim holds. Verdicts are computed, never written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The measured value is as near to the reported one as the class of the claim asks; or the relation holds.
    Match,
    /// So it is, but a parameter was chosen by this number.
    Calibrated,
    /// It is not, but all rows of the column that the paper tells apart come in the paper's order.
    Shape,
    /// It is not, but it is under another set-up, which predicts another reported number as well.
    Explained,
    /// It is, but the interval reaches beyond twice the band: other seeds might say otherwise.
    Open,
    /// None of these, or there was nothing to measure.
    Miss,
}

impl Verdict {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Calibrated => "calibrated",
            Self::Shape => "shape",
            Self::Explained => "explained",
            Self::Open => "open",
            Self::Miss => "miss",
        }
    }
}

impl Class {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Size => "size",
            Self::Bound => "bound",
            Self::Order => "order",
        }
    }

    /// The part of a reported value by which the measured one may differ.
    pub(super) fn tolerance(self) -> Option<f64> {
        match self {
            Self::Exact => Some(0.1),
            Self::Size => Some(0.3),
            Self::Bound | Self::Order => None,
        }
    }
}

impl Expected {
    /// Values that hold, both ends included; of [`More`](Self::More) and [`Less`](Self::Less), the end at 1 excluded.
    fn band(&self) -> (f64, f64) {
        match *self {
            Self::Value { reported, tolerance, .. } => (reported - tolerance, reported + tolerance),
            Self::Bound { least, most } => {
                (least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY))
            }
            Self::More => (1.0, f64::INFINITY),
            Self::Less => (f64::NEG_INFINITY, 1.0),
        }
    }

    /// Whether a value is what is expected.
    pub(super) fn holds(&self, value: f64) -> bool {
        match self {
            Self::Value { reported, .. } if value.is_infinite() || reported.is_infinite() => {
                value == *reported
            }
            Self::Value { reported, tolerance, .. } => (value - reported).abs() <= *tolerance,
            Self::More => value > 1.0,
            Self::Less => value < 1.0,
            Self::Bound { .. } => {
                let (least, most) = self.band();
                (least..=most).contains(&value)
            }
        }
    }

    /// Whether an interval stays within twice the band; where that has one end only, on its side of this end.
    pub(super) fn settles(&self, (low, high): (f64, f64)) -> bool {
        let (least, most) = self.band();
        let half = (most - least) / 2.0;
        let more = if half.is_finite() { half } else { 0.0 };
        low >= least - more && high <= most + more
    }

    /// Whether an interval around a value has room for another verdict.
    pub(super) fn is_undecided(&self, value: f64, (low, high): (f64, f64)) -> bool {
        if self.holds(value) {
            return !self.settles((low, high));
        }
        let (least, most) = self.band();
        low <= most && high >= least
    }
}

impl Claim {
    /// The quantities it is about.
    pub fn quantities(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.quantity.as_str()).chain(self.over.as_deref())
    }

    /// All quantities that it needs: those that explain it as well.
    pub(super) fn needed(&self) -> impl Iterator<Item = String> {
        let others = self.tests().flat_map(Place::into_terms);
        let own = self.quantities().map(str::to_owned).collect::<Vec<_>>();
        own.into_iter().chain(others.map(|term| term.quantity))
    }

    /// Quantities that test its explanation and its note.
    pub(super) fn tests(&self) -> impl Iterator<Item = Place> {
        let noted = self.note.iter().flat_map(|note| places(note).into_iter().flatten());
        self.explained.iter().flat_map(Explanation::tests).cloned().chain(noted)
    }

    /// It is about the ratio of two quantities.
    pub(super) fn is_relation(&self) -> bool {
        self.over.is_some()
    }

    /// The paper says it, and it is counted.
    pub fn counts(&self) -> bool {
        !self.own && self.not_counted.is_none()
    }

    /// Value reported for its quantity itself, if it is a value.
    pub(super) fn reported(&self) -> Option<f64> {
        match self.expected {
            Expected::Value { reported, .. } if self.over.is_none() => Some(reported),
            _ => None,
        }
    }

    /// Both are in one column of a table, in different rows.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (parts(&self.quantity), parts(&other.quantity)) else { return false };
        let values = self.over.is_none() && other.over.is_none();
        values && self.figure == other.figure && own.0 == others.0 && own.2 == others.2 && own.1 != others.1
    }

    /// Whether what was measured is what is expected, or at least in the order of the column: the other claims and what
    /// was measured for them.
    ///
    /// `measured` is the central value over seeds ([`crate::statistics::Estimate::mean`]); of a ratio, that of the ratios.
    pub(super) fn judge<'a>(
        &self,
        measured: Option<f64>,
        column: impl Iterator<Item = (&'a Self, Option<f64>)>,
    ) -> Verdict {
        let measured = measured.filter(|value| !value.is_nan());
        match (&self.expected, measured) {
            (Expected::Value { reported, .. }, None) if reported.is_infinite() => Verdict::Match,
            (expected, Some(value)) if expected.holds(value) => Verdict::Match,
            (Expected::Value { reported, tolerance, .. }, Some(value))
                if value.is_finite() && in_order((*reported, *tolerance, value), column) =>
            {
                Verdict::Shape
            }
            _ => Verdict::Miss,
        }
    }
}

/// Every value of the column that the paper tells apart from this one (reported, tolerance, measured) was measured on the
/// same side of it; and there is such a value.
fn in_order<'a>(
    (reported, tolerance, measured): (f64, f64, f64),
    column: impl Iterator<Item = (&'a Claim, Option<f64>)>,
) -> bool {
    let mut compared = 0;
    for (claim, found) in column {
        let Expected::Value { reported: other, tolerance: others, .. } = &claim.expected else { continue };
        // Also of two infinite ones, whose difference is no number.
        let alike = *other == reported || (other - reported).abs() <= tolerance.max(*others);
        // What was not measured cannot be compared, unless it should be infinite.
        let found = found.or(other.is_infinite().then_some(*other));
        let Some(found) = found.filter(|_| !alike) else { continue };
        if found.partial_cmp(&measured) != other.partial_cmp(&reported) {
            return false;
        }
        compared += 1;
    }
    compared > 0
}

#[cfg(test)]
mod tests {
    use super::super::claims::read;
    use super::*;

    const HEAD: &str = "[[claim]]\nid = \"a\"\nfigure = \"Table 1\"\nsource = \"p. 1\"\nstatement = \"s\"\n";

    fn claim(row: &str, rest: &str) -> Claim {
        read("test", &format!("{HEAD}quantity = \"w.{row}.x\"\n{rest}")).remove(0)
    }

    fn reported(row: &str, value: f64) -> Claim {
        claim(row, &format!("class = \"exact\"\nunit = \"s\"\nreported = {value:?}"))
    }

    fn alone(claim: &Claim, measured: impl Into<Option<f64>>) -> Verdict {
        claim.judge(measured.into(), std::iter::empty())
    }

    /// The verdict on the first of these (reported, measured).
    fn first(column: &[(f64, Option<f64>)]) -> Verdict {
        let claims: Vec<_> = column
            .iter()
            .enumerate()
            .map(|(row, (value, found))| (reported(&format!("r{row}"), *value), *found))
            .collect();
        let others = claims[1..].iter().map(|(claim, found)| (claim, *found));
        claims[0].0.judge(claims[0].1, others)
    }

    #[test]
    fn classes_are_tolerances_of_10_and_30_percent_bounds_included() {
        let exact = claim("a", "class = \"exact\"\nunit = \"Tps\"\nreported = 40");
        let size = claim("a", "class = \"size\"\nunit = \"Tps\"\nreported = -40");
        use Verdict::{Match, Miss};
        assert_eq!([35.9, 36.0, 44.0, 44.1].map(|found| alone(&exact, found)), [Miss, Match, Match, Miss]);
        assert_eq!([-52.1, -52.0, -28.0, -27.9].map(|found| alone(&size, found)), [Miss, Match, Match, Miss]);
    }

    #[test]
    fn a_claim_may_have_its_own_tolerance() {
        let claim = claim("a", "class = \"exact\"\nunit = \"%\"\nreported = 0.0\nwithin = 1.0");
        use Verdict::{Match, Miss};
        assert_eq!([-1.0, 0.0, 1.0, 1.1].map(|found| alone(&claim, found)), [Match, Match, Match, Miss]);
    }

    #[test]
    fn what_was_not_measured_is_a_miss_unless_it_should_be_infinite() {
        let (finite, infinite) = (reported("a", 5.0), reported("a", f64::INFINITY));
        let found = [None, Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY), Some(5.0)];
        use Verdict::{Match, Miss};
        assert_eq!(found.map(|found| alone(&finite, found)), [Miss, Miss, Miss, Miss, Match]);
        assert_eq!(found.map(|found| alone(&infinite, found)), [Match, Match, Match, Miss, Miss]);
    }

    #[test]
    fn the_order_of_a_column_is_its_shape() {
        assert_eq!(first(&[(10.0, Some(20.0)), (30.0, Some(60.0)), (5.0, Some(1.0))]), Verdict::Shape);
        assert_eq!(first(&[(10.0, Some(20.0)), (30.0, Some(60.0)), (5.0, Some(21.0))]), Verdict::Miss);
    }

    #[test]
    fn equal_measurements_of_different_values_have_no_order() {
        assert_eq!(first(&[(10.0, Some(20.0)), (30.0, Some(20.0))]), Verdict::Miss);
    }

    #[test]
    fn a_column_without_differences_has_no_shape() {
        assert_eq!(first(&[(10.0, Some(20.0))]), Verdict::Miss);
        // 11 is within 10 % of one of the two: their order says nothing, right or wrong.
        assert_eq!(first(&[(10.0, Some(20.0)), (11.0, Some(30.0))]), Verdict::Miss);
        assert_eq!(first(&[(10.0, Some(20.0)), (11.0, Some(3.0)), (30.0, Some(60.0))]), Verdict::Shape);
    }

    #[test]
    fn what_was_not_measured_cannot_be_compared() {
        assert_eq!(first(&[(10.0, Some(20.0)), (30.0, None)]), Verdict::Miss);
        assert_eq!(first(&[(10.0, Some(20.0)), (30.0, None), (50.0, Some(99.0))]), Verdict::Shape);
    }

    #[test]
    fn infinity_has_a_place_in_the_order() {
        let infinite = f64::INFINITY;
        assert_eq!(first(&[(10.0, Some(20.0)), (infinite, None)]), Verdict::Shape);
        assert_eq!(first(&[(10.0, Some(20.0)), (infinite, Some(15.0))]), Verdict::Miss);
        assert_eq!(first(&[(infinite, Some(99.0)), (10.0, Some(20.0))]), Verdict::Shape);
        assert_eq!(first(&[(infinite, Some(9.0)), (10.0, Some(20.0))]), Verdict::Miss);
        assert_eq!(first(&[(infinite, Some(9.0)), (infinite, Some(20.0))]), Verdict::Miss);
    }

    #[test]
    fn bounds_hold_or_do_not() {
        let least = claim("a", "class = \"bound\"\nunit = \"ms\"\nat_least = 100");
        let most = claim("a", "class = \"bound\"\nunit = \"ms\"\nat_most = 20.5");
        let between = claim("a", "class = \"bound\"\nover = \"w.b.x\"\nat_least = 1.3\nat_most = 3.5");
        use Verdict::{Match, Miss};
        let found = [Some(20.5), Some(20.6), Some(100.0), Some(f64::INFINITY), Some(f64::NAN), None];
        assert_eq!(found.map(|found| alone(&least, found)), [Miss, Miss, Match, Match, Miss, Miss]);
        assert_eq!(found.map(|found| alone(&most, found)), [Match, Miss, Miss, Miss, Miss, Miss]);
        assert_eq!(
            [1.29, 1.3, 3.5, 3.51, 198.0].map(|found| alone(&between, found)),
            [Miss, Match, Match, Miss, Miss]
        );
    }

    #[test]
    fn orders_say_only_which_is_larger() {
        let above = claim("a", "class = \"order\"\nabove = \"w.b.x\"");
        let below = claim("a", "class = \"order\"\nbelow = \"w.b.x\"");
        use Verdict::{Match, Miss};
        let ratios = [Some(1.001), Some(1.0), Some(f64::INFINITY), Some(f64::NAN), None];
        assert_eq!(ratios.map(|ratio| alone(&above, ratio)), [Match, Miss, Match, Miss, Miss]);
        let ratios = [Some(0.0), Some(1.0), Some(1.1), Some(f64::NAN), None];
        assert_eq!(ratios.map(|ratio| alone(&below, ratio)), [Match, Miss, Miss, Miss, Miss]);
        assert_eq!(above.quantities().collect::<Vec<_>>(), ["w.a.x", "w.b.x"]);
    }

    #[test]
    fn a_number_of_times_has_two_sides() {
        let times = claim("a", "class = \"size\"\nover = \"w.b.x\"\ntimes = 2.5");
        use Verdict::{Match, Miss};
        assert_eq!(
            [1.74, 1.75, 3.25, 3.26, 202.0].map(|found| alone(&times, found)),
            [Miss, Match, Match, Miss, Miss]
        );
        assert_eq!((times.unit.as_str(), times.reported()), ("×", None));
    }

    #[test]
    fn an_interval_settles_a_claim_within_twice_its_band() {
        let exact = claim("a", "class = \"exact\"\nunit = \"Tps\"\nreported = 40").expected;
        assert!(exact.settles((32.0, 48.0)) && !exact.settles((31.9, 40.0)) && !exact.settles((40.0, 48.1)));
        let between = Expected::Bound { least: Some(1.0), most: Some(3.0) };
        assert!(between.settles((0.0, 4.0)) && !between.settles((0.5, 4.1)));
    }

    #[test]
    fn an_interval_settles_a_one_sided_claim_on_its_side() {
        let least = Expected::Bound { least: Some(10.0), most: None };
        assert!(least.settles((10.0, 1e9)) && !least.settles((9.9, 11.0)));
        assert!(Expected::More.settles((1.0, 2.0)) && !Expected::More.settles((0.9, 2.0)));
        assert!(Expected::Less.settles((0.0, 1.0)) && !Expected::Less.settles((0.5, 1.1)));
    }

    #[test]
    fn a_claim_of_the_project_or_one_that_is_not_counted_is_none_of_the_papers() {
        let value = "class = \"exact\"\nunit = \"s\"\nreported = 1.0\n";
        let counts = |more: &str| claim("a", &format!("{value}{more}")).counts();
        let found = ["", "own = true", "counted = false\nbecause = \"it cannot fail\""].map(counts);
        assert_eq!(found, [true, false, false]);
    }

    #[test]
    fn a_column_is_one_group_and_one_column_of_one_figure() {
        let [a, b] = ["a", "b"].map(|row| reported(row, 1.0));
        assert!(a.is_beside(&b) && !a.is_beside(&a));
        assert!(!a.is_beside(&Claim { quantity: "v.b.x".into(), ..b.clone() }));
        assert!(!a.is_beside(&Claim { quantity: "w.b.y".into(), ..b.clone() }));
        assert!(!a.is_beside(&Claim { figure: "Table 2".into(), ..b.clone() }));
        assert!(!a.is_beside(&Claim { over: Some("w.c.x".into()), ..b }), "of values, not of ratios");
    }
}
