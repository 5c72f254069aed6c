//! Links that have more than a rate and a delay: what is checked with the traffic, counted and explained of them.

use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::DropCause;
use narrows_sim::path::{DOCS, Excess, Gap, GilbertElliott, Jitter, Keep, Peak, Policer, Shaper, Slots};

use super::{Declare, Entry, Mechanism};
use crate::counters::Of::Ports;
use crate::counters::{Counter, Counters};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Plan};
use crate::scenario::Scenario;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "paths",
    summary: "links whose rate or delay changes, policers, shapers, losses in bursts, changed codepoints (ECN), jitter, slots, thinned acknowledgments",
    place: "paths",
    source: "Netravali et al., USENIX ATC 2015 (mahimahi); netem and tbf of Linux; Gilbert 1960; Elliott 1963",
    about: DOCS,
    settings: &[
        "LinkPath",
        "RateSteps",
        "RateRamp",
        "CsvTrace",
        "MahimahiTrace",
        "DelaySteps",
        "DelayRamp",
        "PathLoss",
        "LossSteps",
        "GilbertElliott",
        "Policer",
        "Shaper",
        "Peak",
        "Jitter",
        "Added",
        "Late",
        "Slots",
        "Gap",
    ],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        let (rate, burst) = (BitRate::from_mbps(10), Bytes::new(100_000));
        let bursts = GilbertElliott { p: 0.01, r: Some(0.25), bad_loss: 1.0, good_loss: 0.0 };
        let slots =
            Slots { gap: Gap::Fixed(Span::from_ms(4)), max_packets: None, max_bytes: None, keep: Keep::All };
        declare("Policer", &|ranges| Policer { rate, burst, excess: Excess::Drop }.check(ranges));
        declare("Shaper", &|ranges| Shaper { rate, burst, peak: None }.check(ranges));
        declare("Peak", &|ranges| Peak { rate: rate.scaled(2.0), burst }.check(rate, ranges));
        declare("GilbertElliott", &|ranges| bursts.check(ranges));
        declare("Jitter", &|ranges| Jitter { added: None, late: None, reorder: false }.check(ranges));
        declare("Slots", &|ranges| slots.check(ranges));
    }

    /// Refuses buckets that never hold enough for a packet.
    fn check_buckets(&self, scenario: &Scenario, largest: Bytes, checker: &mut Checker<'_>) {
        for (number, path) in scenario.paths.iter().enumerate() {
            let policer = path.policer.map(|policer| ("policer", "passes", policer.burst));
            let shaper = path.shaper.map(|shaper| ("shaper", "sends", shaper.burst));
            let peak = path.shaper.and_then(|shaper| shaper.peak);
            let peak = peak.map(|peak| ("shaper.peak", "sends", peak.burst));
            for (key, never, burst) in policer.into_iter().chain(shaper).chain(peak) {
                if burst < largest {
                    let message = format!(
                        "burst = {burst}: a bucket that is no deeper never {never} packets of {largest}"
                    );
                    let error = Diagnostic::error(Code::Threshold, message);
                    checker.error(
                        &format!("paths.{number}.{key}.burst"),
                        error.help("expected at least the largest packet"),
                    );
                }
            }
        }
    }

    fn counters(&self) -> Option<&'static Counters> {
        Some(&COUNTERS)
    }
}

const PRESENT: &str = "networks with `paths`";

static COUNTERS: Counters = Counters {
    present: PRESENT,
    is_in,
    counters: &[
        Counter::new(
            Ports(|port| port.drops[DropCause::Policer as usize]),
            "",
            "Packets that a policer dropped.",
        )
        .activity("drops: policer")
        .column("drops_policer")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.drops[DropCause::BurstLoss as usize]),
            "",
            "Packets lost in bursts on a link (Gilbert–Elliott).",
        )
        .activity("drops: burst loss")
        .column("drops_burst_loss")
        .only(PRESENT, is_in),
        Counter::new(
            Ports(|port| port.drops[DropCause::Thinned as usize]),
            "",
            "Acknowledgments discarded on a link because a newer one made them needless.",
        )
        .activity("drops: thinned acknowledgments")
        .column("drops_thinned")
        .only(PRESENT, is_in),
        Counter::new(Ports(|port| port.mangled), "", "Packets whose codepoint a link changed (ECN).")
            .activity("codepoints changed")
            .column("ecn_mangled")
            .only(PRESENT, is_in),
    ],
};

fn is_in(plan: &Plan) -> bool {
    !plan.network.paths.is_empty()
}
