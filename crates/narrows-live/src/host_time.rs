//! Time that real hosts take of a round trip: their stacks, and the way to the fabric and back. In virtual time it is none.

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows::diagnostic::Checked;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows_proto::units::Span;

use crate::estimate::trial_of;

/// Flows of one segment: nothing waits for a link. There are so many that the threads of the fabric have no time to sleep, as in a run; with
/// one in 10 ms handshakes took 0.09 to 0.2 ms on one machine, with one in 1 ms 0.07 to 0.1 ms.
const TRIAL: &str = r#"
version = 2
name = "trial"
hosts = "ideal"
stop = { after = "450 ms" }
topology.star = { hosts = 2, rate = "1 Gb/s", delay = "500 us" }
switches.default = { buffer = { size = "4 MB", sharing = "complete" } }

[[traffic]]
name = "trial"
pattern = { long_lived = { flows = 400, start_every = "1 ms", size = "1 kB", pairs = [["host0", "host1"]] } }
cc = { reno = {} }

[record]
windows = { interval = "500 us", flows = 400 }
"#;

/// The plan of these flows.
pub(crate) fn trial() -> Checked<Arc<Plan>> {
    trial_of(TRIAL)
}

/// The median of what handshakes took.
pub(crate) fn handshake(results: &Results) -> Span {
    let mut first = BTreeMap::new();
    for row in results.windows.iter().flatten().filter(|row| row.srtt > Span::ZERO) {
        first.entry(row.flow).or_insert(row.srtt);
    }
    let mut times: Vec<_> = first.into_values().collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use narrows::run::{Options, run};

    use super::*;

    #[test]
    fn in_virtual_time_a_handshake_takes_what_its_links_do() {
        let results = run(&trial().expect("it is valid"), Options::default(), |_| ControlFlow::Continue(()));
        // Four times 500 us, and packets of 84 to 90 B on four links of 1 Gb/s.
        let took = handshake(&results.expect("it runs"));
        assert!((Span::from_us(2000)..Span::from_us(2004)).contains(&took), "{took}");
    }
}
