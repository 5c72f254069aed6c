//! What is recorded of mechanisms: a file for each, with its observer, its rows, and how much memory they may take.

mod isolation;
mod limiters;
mod racks;
pub(crate) mod rows;

use std::sync::Arc;

use narrows_proto::units::Span;
use narrows_sim::mechanism::isolation::IsolationRow;
use narrows_sim::mechanism::limiter::LimiterRow;
use narrows_sim::mechanism::rackcc::{AdvertisedRow, JumboFlowRow};
use narrows_sim::observe::{OfMechanisms, RowLimit};

pub(crate) use self::isolation::MOST_EVENTS;
use crate::plan::Plan;

/// Makes the rows of all mechanisms, and what is asked of each: what is recorded of a mechanism under a key of `record`.
macro_rules! recorded {
    ($($(#[$about:meta])* $name:ident of $mechanism:ident: $rows:ty,)*) => {
        /// What was recorded of mechanisms, on request.
        #[derive(Clone, Debug, Default)]
        pub struct RowsOfMechanisms {
            $($(#[$about])* pub $name: Option<$rows>,)*
        }

        /// Something of mechanisms is recorded.
        pub(crate) fn is_any(plan: &Plan) -> bool {
            [$(plan.record.$name.is_some()),*].contains(&true)
        }

        /// The observers of one thread. Together with those of others they record no more than so many events.
        pub(crate) fn observers(plan: &Plan, events: &Arc<RowLimit>) -> OfMechanisms {
            OfMechanisms { $($mechanism: $name::observer(plan, events),)* }
        }

        /// The rows of the observers of all threads.
        pub(crate) fn finish(observers: Vec<OfMechanisms>) -> RowsOfMechanisms {
            $(let mut $name = Vec::new();)*
            for each in observers {
                $($name.extend(each.$mechanism);)*
            }
            RowsOfMechanisms { $($name: (!$name.is_empty()).then(|| $name::finish($name)),)* }
        }

        /// Memory that rows may take.
        pub(crate) fn bytes(plan: &Plan, end: Span) -> u64 {
            [$($name::bytes(plan, end)),*].into_iter().fold(0, u64::saturating_add)
        }
    };
}

recorded! {
    /// Limiters.
    limiters of limiter: Vec<LimiterRow>,
    /// What happened to queues for isolated flows.
    isolation of isolation: Vec<IsolationRow>,
    /// What switches reported on JumboFlows, and what hosts advertised.
    racks of rackcc: (Vec<JumboFlowRow>, Vec<AdvertisedRow>),
}
