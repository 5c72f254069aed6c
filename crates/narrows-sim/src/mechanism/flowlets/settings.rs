//! Settings.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::Span;

/// The most entries of the table of a switch.
pub const MOST_ENTRIES: u32 = 1 << 20;

/// Memory of an entry.
pub const BYTES_OF_ENTRY: u64 = 16;

/// Flowlets take paths at random.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Flowlets {
    /// A flow that has paused for longer than this begins a flowlet; 100 us.
    pub gap: Span,
    /// Entries of the table of a switch; 16384.
    pub table: u32,
    /// An entry without packets for this long is forgotten; 2 ms.
    #[serde(alias = "ageing")]
    pub aging: Span,
}

impl Default for Flowlets {
    fn default() -> Self {
        Self { gap: Span::from_us(100), table: 16_384, aging: Span::from_ms(2) }
    }
}

impl Flowlets {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        check_table(self.gap, self.table, self.aging, ranges)
    }
}

/// Whether the settings of a table of flowlets are in their ranges.
///
/// # Errors
/// The first that is not.
pub fn check_table(gap: Span, table: u32, aging: Span, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    let gaps = Span::from_ps(1)..=Span::from_secs(10);
    ranges.unless(gaps.contains(&gap), "gap", gap, "more than 0 s, at most 10 s")?;
    ranges.unless((1..=MOST_ENTRIES).contains(&table), "table", table, "1 to 1048576")?;
    ranges.unless(aging >= gap, "aging", aging, "at least the gap")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aging_is_read_in_the_spelling_of_older_scenarios_and_written_in_ours() {
        let read: Flowlets = serde_json::from_str(r#"{"ageing":"5 ms"}"#).unwrap();
        assert_eq!(read.aging, Span::from_ms(5));
        assert!(serde_json::to_string(&read).unwrap().contains("\"aging\""));
    }
}
