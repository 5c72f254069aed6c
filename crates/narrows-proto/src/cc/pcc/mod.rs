//! Parts that both versions of PCC share: rates are tried for monitor intervals, and judged by what became of the data that was
//! sent in each of them.
//!
//! ```text
//! interval   length max(10 packets, U[a, b]·srtt); covers the bytes sent from its first to its last acknowledgment
//! result     when all its bytes are delivered or lost, about a round trip after its end
//! cwnd       window_rtts·rate·srtt: a bound for silence, not a control
//! ```
//! [`monitor`] measures intervals, [`rate`] turns results into what a [`Controller`](super::Controller) has to answer;
//! what is tried next is the [`Strategy`](rate::Strategy) of each version. Both begin alike ([`starting`]).

pub(super) mod monitor;
pub(super) mod rate;
pub(super) mod starting;

#[cfg(test)]
pub(super) mod tests;
