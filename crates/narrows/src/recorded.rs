//! Records of mechanisms.

use std::sync::Arc;

use narrows_sim::observe::{OfMechanisms, RowLimit};

use crate::mechanism::list::mechanisms;
use crate::mechanism::{self, Mechanism as _};
use crate::plan::Plan;
use crate::results::RowsOfMechanisms;

/// Makes the observers of all mechanisms, and the rows that come of them.
macro_rules! recorded {
    ($($mechanism:ident: $about:literal $key:ident: $written:ident of $rows:ty,)*) => {
        /// Something of mechanisms is recorded.
        pub(crate) fn is_any(plan: &Plan) -> bool {
            [$(plan.record.$key.is_some()),*].contains(&true)
        }

        /// A run of this plan has this table. Those of mechanisms are there if they are recorded.
        pub(crate) fn has_table(plan: &Plan, table: &str) -> bool {
            $(if mechanism::$mechanism::Home.tables().iter().any(|of| of.name() == table) {
                return plan.record.$key.is_some();
            })*
            true
        }

        /// The observers of one thread. Together with those of others they record no more than so many events.
        pub(crate) fn observers(plan: &Plan, events: &Arc<RowLimit>) -> OfMechanisms {
            OfMechanisms { $($mechanism: mechanism::$mechanism::observer(plan, events),)* }
        }

        /// The rows of the observers of all threads.
        pub(crate) fn finish(observers: Vec<OfMechanisms>) -> RowsOfMechanisms {
            $(let mut $key = Vec::new();)*
            for each in observers {
                $($key.extend(each.$mechanism);)*
            }
            RowsOfMechanisms { $($key: (!$key.is_empty()).then(|| mechanism::$mechanism::finish($key)),)* }
        }
    };
}

mechanisms!(record => recorded);
