//! What a paper says in numbers, and whether it holds.

use serde::{Deserialize, Serialize};

use super::parts;
use crate::diagnostic::Checked;
use crate::document::Document;

/// Something a paper says.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub struct Claim {
    /// Its name; it never changes.
    pub id: String,
    /// The figure or table it belongs to.
    pub figure: String,
    /// Where it is said.
    pub source: String,
    /// What is said.
    pub statement: String,
    /// What is measured: `group.row.column`.
    pub quantity: String,
    /// What it should be.
    pub expected: Expected,
    /// How near it should be.
    pub class: Class,
    /// Explains why it does not hold, if it does not.
    pub note: Option<String>,
}

/// What a quantity should be.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// This value.
    Value {
        /// The value; may be infinite.
        reported: f64,
        /// Its unit.
        unit: String,
        /// How far the measured value may be from it, in this unit.
        tolerance: f64,
        /// The tolerance is not that of the class.
        own_tolerance: bool,
    },
    /// At least or at most this much.
    Bound {
        /// The bound; it may be reached.
        bound: f64,
        /// Which of the two.
        side: Side,
        /// Its unit.
        unit: String,
    },
    /// More than `factor` times another quantity.
    Above {
        /// The other quantity.
        other: String,
        /// How many times.
        factor: f64,
    },
    /// Less than `factor` times another quantity.
    Below {
        /// The other quantity.
        other: String,
        /// How many times.
        factor: f64,
    },
}

/// On which side of a bound a quantity should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Not below it.
    AtLeast,
    /// Not above it.
    AtMost,
}

/// How near a claim asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Within 10 %.
    Exact,
    /// Within 30 %.
    Size,
    /// On one side of a bound.
    Bound,
    /// One quantity beside another: only which is larger, and at least by how much.
    Order,
}

/// Whether a claim holds. Verdicts are computed, never written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The measured value is as near to the reported one as the class of the claim asks; or the relation holds.
    Match,
    /// It is not, but all rows of the column that the paper tells apart come in the paper's order.
    Shape,
    /// Neither, or there was nothing to measure.
    Miss,
}

impl Verdict {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Shape => "shape",
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
    fn tolerance(self) -> Option<f64> {
        match self {
            Self::Exact => Some(0.1),
            Self::Size => Some(0.3),
            Self::Bound | Self::Order => None,
        }
    }
}

/// A claim as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    figure: String,
    source: String,
    statement: String,
    quantity: String,
    class: Class,
    /// A value; `inf` for an infinite one.
    reported: Option<f64>,
    unit: Option<String>,
    /// A tolerance in this unit, instead of that of the class.
    within: Option<f64>,
    /// It is not less, in this unit.
    at_least: Option<f64>,
    /// It is not more, in this unit.
    at_most: Option<f64>,
    /// A quantity that is less.
    above: Option<String>,
    /// A quantity that is more.
    below: Option<String>,
    /// How many times; 1 if left out.
    factor: Option<f64>,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<Claim>,
}

/// Reads `claims.toml` of the paper `name`.
///
/// # Panics
/// If something is wrong with it. It is part of the program.
pub(super) fn read(name: &str, text: &str) -> Vec<Claim> {
    let document = Document::parse(&format!("{name}/claims.toml"), text, "");
    let claims = document.and_then(|document| parse(&document));
    claims.unwrap_or_else(|rejection| panic!("{rejection}"))
}

/// Reads `claims.toml`.
///
/// # Errors
/// If something is wrong with it.
pub(super) fn parse(document: &Document) -> Checked<Vec<Claim>> {
    Ok(document.read_into::<File>()?.claim)
}

impl TryFrom<Written> for Claim {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let bound = bound(&written)?;
        let Written { id, figure, source, statement, quantity, class, note, .. } = written;
        if let Some(expected) = bound {
            return Ok(Self { id, figure, source, statement, quantity, expected, class, note });
        }
        let factor = written.factor.unwrap_or(1.0);
        let expected = match (written.reported, written.above, written.below, class.tolerance()) {
            (Some(reported), None, None, Some(part)) if written.factor.is_none() => {
                let unit = written.unit.ok_or("a reported value needs a unit")?;
                let tolerance = match written.within {
                    Some(within) => within,
                    None if reported == 0.0 => return Err("a reported value of 0 needs `within`"),
                    None if reported.is_infinite() => 0.0,
                    None => reported.abs() * part,
                };
                if reported.is_nan() || !tolerance.is_finite() || tolerance < 0.0 {
                    return Err("`reported` or `within` makes no sense");
                }
                let own_tolerance = written.within.is_some();
                Expected::Value { reported, unit, tolerance, own_tolerance }
            }
            (None, above, below, None) if written.within.is_none() && written.unit.is_none() => {
                if !(factor.is_finite() && factor > 0.0) {
                    return Err("`factor` is not above 0");
                }
                match (above, below) {
                    (Some(other), None) => Expected::Above { other, factor },
                    (None, Some(other)) => Expected::Below { other, factor },
                    _ => return Err("give one of `above` and `below`"),
                }
            }
            _ => {
                return Err("classes exact and size need `reported` and `unit`, may have `within`; \
                            class order needs `above` or `below`, may have `factor`");
            }
        };
        Ok(Self { id, figure, source, statement, quantity, expected, class, note })
    }
}

/// What a claim of class bound expects; none if the claim is of another class.
fn bound(written: &Written) -> Result<Option<Expected>, &'static str> {
    let (bound, side) = match (written.class, written.at_least, written.at_most) {
        (Class::Bound, Some(bound), None) => (bound, Side::AtLeast),
        (Class::Bound, None, Some(bound)) => (bound, Side::AtMost),
        (Class::Bound, ..) => return Err("class bound needs one of `at_least` and `at_most`"),
        (_, None, None) => return Ok(None),
        _ => return Err("`at_least` and `at_most` are of class bound"),
    };
    let others = [&written.reported, &written.within, &written.factor];
    if others.iter().any(|other| other.is_some()) || written.above.is_some() || written.below.is_some() {
        return Err("class bound has a bound and a unit, and nothing else");
    }
    let unit = written.unit.clone().ok_or("a bound needs a unit")?;
    if !bound.is_finite() {
        return Err("a bound is a number");
    }
    Ok(Some(Expected::Bound { bound, side, unit }))
}

impl Claim {
    /// The quantities it is about.
    pub fn quantities(&self) -> impl Iterator<Item = &str> {
        let other = match &self.expected {
            Expected::Value { .. } | Expected::Bound { .. } => None,
            Expected::Above { other, .. } | Expected::Below { other, .. } => Some(other.as_str()),
        };
        std::iter::once(self.quantity.as_str()).chain(other)
    }

    /// It is about two quantities.
    pub(super) fn is_relation(&self) -> bool {
        matches!(self.expected, Expected::Above { .. } | Expected::Below { .. })
    }

    /// Both are in one column of a table, in different rows.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (parts(&self.quantity), parts(&other.quantity)) else { return false };
        self.figure == other.figure && own.0 == others.0 && own.2 == others.2 && own.1 != others.1
    }

    /// The verdict, given what was measured and the other claims of the column with what was measured for them.
    ///
    /// `measured` is the central value over seeds ([`crate::statistics::Estimate::mean`]); for a relation it is the ratio of
    /// the two quantities. Confidence intervals are shown beside and do not enter: the verdict asks whether the best estimate is near enough, the interval tells how
    /// sure the estimate is.
    pub(super) fn judge<'a>(
        &self,
        measured: Option<f64>,
        column: impl Iterator<Item = (&'a Self, Option<f64>)>,
    ) -> Verdict {
        let measured = measured.filter(|value| !value.is_nan());
        let matched = |holds| if holds { Verdict::Match } else { Verdict::Miss };
        match (&self.expected, measured) {
            (Expected::Above { factor, .. }, ratio) => matched(ratio.is_some_and(|ratio| ratio > *factor)),
            (Expected::Below { factor, .. }, ratio) => matched(ratio.is_some_and(|ratio| ratio < *factor)),
            (Expected::Bound { bound, side: Side::AtLeast, .. }, found) => {
                matched(found.is_some_and(|found| found >= *bound))
            }
            (Expected::Bound { bound, side: Side::AtMost, .. }, found) => {
                matched(found.is_some_and(|found| found <= *bound))
            }
            (Expected::Value { reported, .. }, None) => matched(reported.is_infinite()),
            (Expected::Value { reported, tolerance, .. }, Some(measured)) => {
                if measured.is_infinite() {
                    matched(measured == *reported)
                } else if (measured - reported).abs() <= *tolerance {
                    Verdict::Match
                } else if in_order((*reported, *tolerance, measured), column) {
                    Verdict::Shape
                } else {
                    Verdict::Miss
                }
            }
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
        use Verdict::{Match, Miss};
        let found = [Some(20.5), Some(20.6), Some(100.0), Some(f64::INFINITY), Some(f64::NAN), None];
        assert_eq!(found.map(|found| alone(&least, found)), [Miss, Miss, Match, Match, Miss, Miss]);
        assert_eq!(found.map(|found| alone(&most, found)), [Match, Miss, Miss, Miss, Miss, Miss]);
    }

    #[test]
    fn relations_hold_or_do_not() {
        let above = claim("a", "class = \"order\"\nabove = \"w.b.x\"\nfactor = 100.0");
        let below = claim("a", "class = \"order\"\nbelow = \"w.b.x\"");
        use Verdict::{Match, Miss};
        let ratios = [Some(100.1), Some(100.0), Some(f64::INFINITY), Some(f64::NAN), None];
        assert_eq!(ratios.map(|ratio| alone(&above, ratio)), [Match, Miss, Match, Miss, Miss]);
        let ratios = [Some(0.0), Some(1.0), Some(1.1), Some(f64::NAN), None];
        assert_eq!(ratios.map(|ratio| alone(&below, ratio)), [Match, Miss, Miss, Miss, Miss]);
        assert_eq!(above.quantities().collect::<Vec<_>>(), ["w.a.x", "w.b.x"]);
    }

    #[test]
    fn a_column_is_one_group_and_one_column_of_one_figure() {
        let [a, b] = ["a", "b"].map(|row| reported(row, 1.0));
        assert!(a.is_beside(&b) && !a.is_beside(&a));
        assert!(!a.is_beside(&Claim { quantity: "v.b.x".into(), ..b.clone() }));
        assert!(!a.is_beside(&Claim { quantity: "w.b.y".into(), ..b.clone() }));
        assert!(!a.is_beside(&Claim { figure: "Table 2".into(), ..b }));
    }

    #[test]
    fn claims_that_make_no_sense_are_refused() {
        let wrong = [
            "class = \"exact\"\nreported = 1.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 0.0",
            "class = \"exact\"\nunit = \"s\"\nreported = nan",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nwithin = -1.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nfactor = 2.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nabove = \"w.b.x\"",
            "class = \"exact\"\nabove = \"w.b.x\"",
            "class = \"order\"\nunit = \"s\"\nreported = 1.0",
            "class = \"order\"\nabove = \"w.b.x\"\nfactor = 0.0",
            "class = \"order\"\nabove = \"w.b.x\"\nbelow = \"w.c.x\"",
            "class = \"order\"",
            "class = \"bound\"\nunit = \"s\"",
            "class = \"bound\"\nat_most = 1.0",
            "class = \"bound\"\nunit = \"s\"\nat_most = inf",
            "class = \"bound\"\nunit = \"s\"\nat_most = 1.0\nat_least = 0.0",
            "class = \"bound\"\nunit = \"s\"\nat_most = 1.0\nreported = 1.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nat_most = 1.0",
            "class = \"exakt\"\nunit = \"s\"\nreported = 1.0",
            "class = \"exact\"\nunit = \"s\"\nreported = 1.0\nverdict = \"match\"",
        ];
        for wrong in wrong {
            let text = format!("{HEAD}quantity = \"w.a.x\"\n{wrong}");
            let file = Document::parse("claims.toml", text, "").and_then(|claims| claims.read_into::<File>());
            assert!(file.is_err(), "{wrong}");
        }
    }
}
