use crate::cc::{OutOfRange, Ranges};
use crate::units::Span;

/// Choice of paths by the entropy value that the sender writes into each packet and switches hash.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RdmaPaths")]
pub enum Paths {
    /// Every value once in a round, in changing order. It reacts to nothing.
    Oblivious(Oblivious),
    /// As `oblivious`, without values that feedback has penalized.
    Bitmap(Bitmap),
    /// Recycled entropy: values that came back good, oldest first, and random ones when there are none.
    Reps(Reps),
    /// The first REPS: a round trip over all values, then values that came back good, and random ones when there are none.
    RepsLegacy(RepsLegacy),
    /// Values that came back good, oldest first, and those of `bitmap` when there are none.
    Mixed(Mixed),
}

/// Settings of `oblivious`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RdmaPathsOblivious")]
pub struct Oblivious {
    /// Entropy values of a connection, a power of two from 1 to 65 536; 64.
    pub values: u32,
}

impl Default for Oblivious {
    fn default() -> Self {
        Self { values: 64 }
    }
}

/// Settings of `bitmap`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RdmaPathsBitmap")]
pub struct Bitmap {
    /// Entropy values of a connection, a power of two from 1 to 65 536; 64.
    pub values: u32,
    /// Penalty of a value for a mark; 1. A choice that skips values takes 1 from the first of them.
    pub marked: u8,
    /// Penalty for a packet that was trimmed before the last link; 4.
    pub trimmed: u8,
    /// Penalty for a timeout; 15.
    pub timeout: u8,
    /// The largest penalty of a value; 15.
    pub most: u8,
}

impl Default for Bitmap {
    fn default() -> Self {
        Self { values: 64, marked: 1, trimmed: 4, timeout: 15, most: 15 }
    }
}

/// Settings of `reps`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RdmaPathsReps")]
pub struct Reps {
    /// Entropy values of a connection, a power of two from 1 to 65 536; 64.
    pub values: u32,
    /// Values that it remembers, 1 to 65 536; 8.
    pub cache: u32,
    /// A timeout makes it use nothing but remembered values for so long; 10 ms.
    pub freeze: Span,
    /// Random choices after that; 16.
    pub explore: u32,
}

impl Default for Reps {
    fn default() -> Self {
        Self { values: 64, cache: 8, freeze: Span::from_ms(10), explore: 16 }
    }
}

/// Settings of `reps_legacy`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RdmaPathsRepsLegacy")]
pub struct RepsLegacy {
    /// Entropy values of a connection, a power of two from 1 to 65 536; 64.
    pub values: u32,
    /// Packets of the first window, which take the values in turn; 64.
    pub first: u32,
    /// Values that it remembers, 1 to 65 536; 1024.
    pub cache: u32,
}

impl Default for RepsLegacy {
    fn default() -> Self {
        Self { values: 64, first: 64, cache: 1024 }
    }
}

/// Settings of `mixed`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RdmaPathsMixed")]
pub struct Mixed {
    /// Penalties where no value is remembered, and the number of values.
    pub bitmap: Bitmap,
    /// Values that it remembers, 1 to 65 536; 1024.
    pub cache: u32,
}

impl Default for Mixed {
    fn default() -> Self {
        Self { bitmap: Bitmap::default(), cache: 1024 }
    }
}

impl Paths {
    /// Entropy values of a connection.
    pub fn values(&self) -> u32 {
        match *self {
            Self::Oblivious(Oblivious { values })
            | Self::Bitmap(Bitmap { values, .. })
            | Self::Reps(Reps { values, .. })
            | Self::RepsLegacy(RepsLegacy { values, .. })
            | Self::Mixed(Mixed { bitmap: Bitmap { values, .. }, .. }) => values,
        }
    }

    /// Checks ranges that types cannot express. Names of settings begin with `paths`, the setting that has this value.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let values = self.values();
        let in_range = values.is_power_of_two() && values <= MOST_VALUES;
        ranges.unless(in_range, "paths.values", values, "a power of two, 1 to 65 536")?;
        match self {
            Self::Oblivious(_) => Ok(()),
            Self::Bitmap(bitmap) => bitmap.check(ranges),
            Self::Reps(Reps { cache, freeze, explore, .. }) => {
                check_cache(*cache, ranges)?;
                ranges.timer("paths.freeze", *freeze)?;
                let longest = Span::from_secs(10);
                ranges.unless(*freeze <= longest, "paths.freeze", *freeze, "at most 10 s")?;
                ranges.unless(*explore <= 1_000_000, "paths.explore", *explore, "at most 1 000 000 choices")
            }
            Self::RepsLegacy(RepsLegacy { first, cache, .. }) => {
                check_cache(*cache, ranges)?;
                ranges.unless(*first <= 1_000_000, "paths.first", *first, "at most 1 000 000 packets")
            }
            Self::Mixed(Mixed { bitmap, cache }) => {
                check_cache(*cache, ranges)?;
                bitmap.check(ranges)
            }
        }
    }
}

/// All values of 16 bits.
const MOST_VALUES: u32 = 65_536;

fn check_cache(cache: u32, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    ranges.unless((1..=MOST_VALUES).contains(&cache), "paths.cache", cache, "1 to 65 536 values")
}

impl Bitmap {
    fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { marked, trimmed, timeout, most, .. } = *self;
        ranges.unless(most >= 1, "paths.most", most, "1 to 255")?;
        for (setting, penalty) in
            [("paths.marked", marked), ("paths.trimmed", trimmed), ("paths.timeout", timeout)]
        {
            ranges.unless(penalty <= most, setting, penalty, "at most most")?;
        }
        Ok(())
    }
}
