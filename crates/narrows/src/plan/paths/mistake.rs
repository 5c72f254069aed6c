use narrows_proto::units::{BitRate, Span, WireTime};
use narrows_sim::is_link_rate;

use crate::diagnostic::Diagnostic;

/// The longest propagation delay.
const LONGEST_DELAY: Span = Span::from_secs(3600);

/// A key, and what is wrong with its value.
pub(super) type Mistake = (&'static str, Diagnostic);

/// Checks a rate that a link has for some time: it may be zero.
pub(super) fn rate_mistake(rate: BitRate) -> Option<String> {
    let fits = rate == BitRate::ZERO || is_link_rate(rate);
    (!fits).then(|| format!("{rate}, expected 0 b/s, or {} to {}", WireTime::MIN_RATE, WireTime::MAX_RATE))
}

/// Checks the probability that a packet is lost.
pub(super) fn loss_mistake(loss: f64) -> Option<String> {
    (!(0.0..1.0).contains(&loss)).then(|| format!("{loss}, expected at least 0, less than 1"))
}

/// Checks a delay.
pub(super) fn delay_mistake(delay: Span) -> Option<String> {
    (delay > LONGEST_DELAY).then(|| format!("{delay}, expected at most {LONGEST_DELAY}"))
}
