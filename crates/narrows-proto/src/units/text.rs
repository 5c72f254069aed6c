//! Reading and printing quantities, exactly and in one place for all of them.

use std::fmt;

/// The name that quantities have for a deserializer, so that it can distinguish their errors from others.
pub const QUANTITY: &str = "Quantity";

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// There is no number at the beginning.
    #[error("expected {expected}, found {found:?}")]
    NotANumber {
        /// The whole text.
        found: String,
        /// Accepted form, with an example.
        expected: &'static str,
    },
    /// A number without a unit.
    #[error("missing unit in {found:?}, expected {expected}")]
    NoUnit {
        /// The whole text.
        found: String,
        /// Accepted form, with an example.
        expected: &'static str,
    },
    /// The unit is not one of this kind of quantity.
    #[error("unknown unit {unit:?}, known: {known}")]
    UnknownUnit {
        /// Text where the unit should stand.
        unit: String,
        /// All unit names, comma separated.
        known: String,
    },
    /// Quantities here are never below zero.
    #[error("{found:?} is negative, expected {expected}")]
    Negative {
        /// The whole text.
        found: String,
        /// Accepted form, with an example.
        expected: &'static str,
    },
    /// The value is not a whole number of the smallest unit.
    #[error("{found:?} is finer than the smallest step, {step}")]
    TooFine {
        /// The whole text.
        found: String,
        /// The smallest step, with its unit.
        step: &'static str,
    },
    /// The value does not fit 64 bits.
    #[error("{found:?} is too large, the largest is {largest}")]
    TooLarge {
        /// The whole text.
        found: String,
        /// The largest value, printed.
        largest: String,
    },
}

/// One kind of quantity: what its units are called and how many base units each holds.
pub(super) struct Kind {
    /// For messages: "a time such as \"5 ms\"".
    pub(super) expected: &'static str,
    /// The smallest step: "1 ps".
    pub(super) step: &'static str,
    /// Units used for printing, largest first; each name may also be read.
    pub(super) decimal: &'static [(&'static str, u64)],
    /// Units used for printing values that are whole in them but not in thousands, largest first.
    pub(super) binary: &'static [(&'static str, u64)],
    /// Further names that may be read.
    pub(super) synonyms: &'static [(&'static str, u64)],
}

impl Kind {
    fn units(&self) -> impl Iterator<Item = &(&'static str, u64)> {
        self.decimal.iter().chain(self.binary).chain(self.synonyms)
    }

    /// Reads `12`, `12.5` or `1.2e3`, digits optionally grouped with `_`, followed by a unit.
    pub(super) fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        let unsigned = trimmed.strip_prefix('-').unwrap_or(trimmed);
        let number_len = number_prefix(unsigned);
        let (number, unit) = (&unsigned[..number_len], unsigned[number_len..].trim_start());
        let found = || trimmed.to_owned();
        let decimal = Decimal::parse(number)
            .ok_or_else(|| QuantityError::NotANumber { found: found(), expected: self.expected })?;
        if unit.is_empty() {
            return Err(QuantityError::NoUnit { found: found(), expected: self.expected });
        }
        let Some(&(_, scale)) = self.units().find(|(name, _)| *name == unit) else {
            let known = self.decimal.iter().rev().chain(self.binary.iter().rev());
            let known = known.map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(QuantityError::UnknownUnit { unit: unit.to_owned(), known });
        };
        if unsigned.len() != trimmed.len() && decimal.mantissa != 0 {
            return Err(QuantityError::Negative { found: found(), expected: self.expected });
        }
        match decimal.times(scale) {
            Scaled::Exact(value) => Ok(value),
            Scaled::TooFine => Err(QuantityError::TooFine { found: found(), step: self.step }),
            Scaled::TooLarge => Err(QuantityError::TooLarge {
                found: found(),
                largest: Shown { kind: self, value: u64::MAX }.to_string(),
            }),
        }
    }
}

/// Prints `value` exactly, or rounded to the formatter's precision if one is given.
pub(super) struct Shown<'a> {
    pub(super) kind: &'a Kind,
    pub(super) value: u64,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, value } = *self;
        let smallest = kind.decimal[kind.decimal.len() - 1];
        let &(name, scale) = kind.decimal.iter().find(|(_, scale)| value >= *scale).unwrap_or(&smallest);
        if let Some(digits) = f.precision() {
            let rounded = format!("{:.digits$} {name}", value as f64 / scale as f64);
            return f.pad_integral(true, "", &rounded);
        }
        let binary = kind.binary.iter().find(|(_, scale)| value >= *scale && value % scale == 0);
        if let Some((name, scale)) = binary.filter(|_| value % 1000 != 0) {
            return f.pad_integral(true, "", &format!("{} {name}", value / scale));
        }
        let whole = value / scale;
        let rest = value % scale;
        let text = if rest == 0 {
            format!("{whole} {name}")
        } else {
            let width = scale.ilog10() as usize; // the scales used for printing are powers of ten
            let fraction = format!("{rest:0width$}");
            format!("{whole}.{} {name}", fraction.trim_end_matches('0'))
        };
        f.pad_integral(true, "", &text)
    }
}

/// Number of leading bytes that belong to the number. An `e` counts only when digits follow.
fn number_prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count();
    let mut len = digits(0);
    if bytes.get(len) == Some(&b'.') {
        len += 1 + digits(len + 1);
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let exponent = if len + 1 + sign <= bytes.len() { digits(len + 1 + sign) } else { 0 };
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    len
}

/// `mantissa × 10^exponent`.
struct Decimal {
    mantissa: u128,
    exponent: i64,
    /// The mantissa had more digits than 128 bits hold.
    overflowed: bool,
}

enum Scaled {
    Exact(u64),
    TooFine,
    TooLarge,
}

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let far = if exponent.starts_with('-') { i32::MIN } else { i32::MAX }; // both are far out of range
        let exponent = i64::from(exponent.replace('_', "").parse().unwrap_or(far));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if !whole.starts_with(|c: char| c.is_ascii_digit()) || (number.contains('.') && fraction.is_empty()) {
            return None;
        }
        let mut decimal = Self { mantissa: 0, exponent, overflowed: false };
        for (position, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
            let Some(digit) = (digit as char).to_digit(10) else { continue };
            let next = decimal.mantissa.checked_mul(10).and_then(|m| m.checked_add(u128::from(digit)));
            decimal.overflowed |= next.is_none();
            decimal.mantissa = next.unwrap_or(decimal.mantissa);
            decimal.exponent -= i64::from(position >= whole.len());
        }
        // Trailing zeros would overflow 10^exponent needlessly.
        while decimal.mantissa != 0 && decimal.mantissa.is_multiple_of(10) {
            decimal.mantissa /= 10;
            decimal.exponent += 1;
        }
        Some(decimal)
    }

    fn times(&self, scale: u64) -> Scaled {
        if self.overflowed {
            return Scaled::TooLarge;
        }
        if self.mantissa == 0 {
            return Scaled::Exact(0);
        }
        let power = u32::try_from(self.exponent.unsigned_abs()).ok().and_then(|e| 10_u128.checked_pow(e));
        let scaled = self.mantissa.checked_mul(u128::from(scale));
        match (self.exponent >= 0, power, scaled) {
            (true, Some(power), Some(scaled)) => scaled.checked_mul(power).map_or(Scaled::TooLarge, fit),
            (true, ..) | (false, _, None) => Scaled::TooLarge,
            (false, Some(power), Some(scaled)) if scaled % power == 0 => fit(scaled / power),
            (false, ..) => Scaled::TooFine,
        }
    }
}

fn fit(value: u128) -> Scaled {
    u64::try_from(value).map_or(Scaled::TooLarge, Scaled::Exact)
}

/// The parts every quantity shares: reading, printing, serde and the JSON schema.
macro_rules! quantity_text {
    ($type:ident, $kind:expr, $schema_name:literal, $pattern:literal, [$($example:literal),+]) => {
        impl std::str::FromStr for $type {
            type Err = $crate::units::QuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $kind.parse(text).map(Self)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&$crate::units::text::Shown { kind: &$kind, value: self.0 }, f)
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{self}")
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($kind.expected)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$type, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$type, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<$type, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                    fn visit_newtype_struct<D: serde::Deserializer<'de>>(
                        self,
                        inner: D,
                    ) -> Result<$type, D::Error> {
                        inner.deserialize_any(self)
                    }
                }
                deserializer.deserialize_newtype_struct($crate::units::QUANTITY, Visitor)
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $schema_name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "pattern": $pattern,
                    "description": $kind.expected,
                    "examples": [$($example),+],
                })
            }
        }
    };
}
pub(super) use quantity_text;
