//! Dual queue with a coupled controller (DualPI2): traffic under scalable controls (L4S) waits in a queue of its own, which is short, and
//! gets about the same rates per flow as classic traffic in the other.
//!
//! ```text
//! queue      L if the packet says ECT(1) or CE, else C                                      RFC 9332 §2.3
//! update     p' += α·(q − target) + β·(q − q before), in [0, 1], every T;                   App. A, Fig. 8
//!            q is the longer of the times that the first packets of L and C have waited
//!            T = min(target, RTT_max/3)   α = 0.1·T/RTT_max²   β = 0.3/RTT_max              Fig. 2
//! coupling   p_C = p'²   p_CL = k·p'   so that p_C = (p_CL/k)²                              §2.1 (1), §2.4
//! leaves C   with likelihood p_C marked if it can be, else dropped                          Fig. 7
//! leaves L   marked with likelihood max(p'_L, p_CL); p'_L rises from 0 to 1 between
//!            minTh and minTh + range of its sojourn time, if it leaves Th_len behind        Fig. 5, Fig. 7
//! overload   from p_CL = 1 on: in L dropped with likelihood p_C, the others marked;
//!            from p_C = 1/k² on in C dropped even if it can be marked                       Fig. 7
//! next       weighted: L, but 1/16 for C while both wait, or
//!            time-shifted: whichever has waited longer, L with a head start                 §4.2.2, App. A.2
//! ```
//! A likelihood p is no draw: every packet adds it to a sum, and one that lifts the sum above 1 is chosen and takes 1 off (Fig. 4).
//!
//! The rates are equal for controls whose window is 2/p (App. C.2). Our DCTCP, which does not grow in the round in which it has cut its
//! window, as in Linux, has about 1/p, and so about half of the rate.
//!
//! While less than two packets wait in both queues neither p_C nor p_CL is applied, as in Linux (App. A.1).
//!
//! Differs from RFC 9332 Fig. 3: what is limited is the packet memory of the switch.

mod counters;
mod dual_queue;
mod scheduler;
mod settings;
mod state;
#[cfg(test)]
mod tests;

pub use self::counters::DualPi2Counters;
pub use self::scheduler::{Scheduler, TimeShifted, Weighted};
pub use self::settings::DualPi2;
pub use self::state::BYTES_OF_PORT;
pub(crate) use self::state::DualQueues;

/// Documentation of its module.
pub const DOCS: &[&str] = &[narrows_proto::module_docs!("mod.rs")];
