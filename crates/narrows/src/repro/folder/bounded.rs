//! Bounds of what is taken of a column: Jain's index is not above 1, a count not below 0.

use super::columns::{Column, First, Last, Numbers, Take};
use super::written::Reduce;
use crate::bounds::Bounds;
use crate::results::{ColumnKind, TableInfo};

impl Column {
    pub(super) fn bounds(&self) -> Bounds {
        let numbers = self.numbers.bounds(self.table);
        let first = match &self.first {
            First::Nothing => numbers,
            First::Groups { each, .. } => each.bounds(numbers),
            // Intervals without rows are zero.
            First::Bins { each, .. } => each.bounds(numbers).or(0.0),
        };
        let last = match &self.last {
            Last::Reduced(reduce) => reduce.bounds(first),
            Last::Until(_) => Bounds::NOT_NEGATIVE,
        };
        self.empty.map_or(last, |empty| last.or(empty))
    }
}

impl Numbers {
    fn bounds(&self, table: &str) -> Bounds {
        let kind = TableInfo::find(table).and_then(|info| Some(info.column(&self.column)?.kind));
        let present = match &self.take {
            Take::Value | Take::Increase(_) => match kind {
                Some(ColumnKind::Flag) => Bounds::FRACTION,
                Some(ColumnKind::Integer | ColumnKind::Name) => Bounds::NOT_NEGATIVE,
                Some(ColumnKind::Real) | None => Bounds::NONE,
            },
            Take::Minus(_) => Bounds::NONE,
            Take::Named(values) => {
                let mut values = values.values();
                let first = values.next().copied().unwrap_or(0.0);
                values.fold(Bounds { least: first, most: first }, |all, value| all.or(*value))
            }
        };
        self.missing.map_or(present, |missing| present.or(missing))
    }
}

impl Reduce {
    /// Of many values that are within these bounds.
    fn bounds(self, values: Bounds) -> Bounds {
        match self {
            Self::Mean | Self::Max | Self::Min | Self::Percentile(_) => values,
            Self::Sum | Self::Peak | Self::Variation | Self::SampleVariation => values.scaled(),
            Self::Count | Self::Distinct | Self::Deviation => Bounds::NOT_NEGATIVE,
            Self::Jain => Bounds::FRACTION,
        }
    }
}
