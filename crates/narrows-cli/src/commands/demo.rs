//! Demonstrations. Most are comparisons: variants of a built-in scenario side by side.

use std::path::PathBuf;

use narrows::diagnostic::Checked;

use super::compare::{Show, contenders, side_by_side};
#[cfg(target_os = "linux")]
use super::demo_live::demo_live;
use super::demo_sweep::{SUCCESSORS, WAN, demo_sweep};
use crate::{Status, args};

/// A demonstration: variants of a built-in scenario, each a name and overrides.
struct Demonstration {
    scenario: &'static str,
    out: &'static str,
    variants: &'static [(&'static str, &'static [&'static str])],
}

/// DCTCP inside the data centers and BBR across, alone and in Annulus. The WAN flows start in one rack.
const TWO_DC_MIX: Demonstration = Demonstration {
    scenario: "two-dc-mix",
    out: "out/demo",
    variants: &[
        ("dctcp+bbr", &[ONE_RACK, LONGER, "traffic.wan.cc={ bbr = {} }"]),
        (
            "annulus(dctcp+bbr)",
            &[
                ONE_RACK,
                LONGER,
                "traffic.dc.cc={ annulus = { end_to_end = { dctcp = {} }, near_source = { dc_rtt = \"10 us\" } } }",
                "traffic.wan.cc={ annulus = { end_to_end = { bbr = {} }, near_source = { dc_rtt = \"10 us\" } } }",
                "switches.default.congestion_point={ qcn = { set_point = \"33 kB\", message = { reach = \"tor_agg\" } } }",
            ],
        ),
    ],
};

const ONE_RACK: &str =
    "traffic.wan.pattern={ long_lived = { flows = 6, from = \"dc0/rack0/*\", to = \"dc1/*\" } }";
const LONGER: &str = "stop.after=200 ms";

/// PAUSE alone, and with switches that talk to the senders.
const VICTIM: Demonstration = Demonstration {
    scenario: "victim",
    out: "out/demo-bcn",
    variants: &[
        ("pause", &[]),
        (
            "pause+bcn",
            &[
                "switches.default.congestion_point={ bcn = { set_point = \"32 kB\", severe = \"600 kB\", \
                 sampling = { random = 0.05 } } }",
                "reaction_points={ rule = { bcn = {} } }",
            ],
        ),
        (
            "pause+qcn",
            &[
                "switches.default.congestion_point={ qcn = { set_point = \"32 kB\" } }",
                "reaction_points={ rule = { qcn = {} } }",
            ],
        ),
    ],
};

/// A victim of priority-based flow control alone, and with congested flows isolated.
const INCAST_VICTIM: Demonstration = Demonstration {
    scenario: "isolation",
    out: "out/demo-dvl",
    variants: &[
        ("pfc", &["switches.default={ buffer = { size = \"3 MB\", sharing = \"complete\" }, pfc = {} }"]),
        ("pfc+dvl", &["switches.default.isolation={ scheme = \"dvl\" }"]),
        ("pfc+edvl", &["switches.default.isolation={ scheme = \"edvl\" }"]),
    ],
};

/// Short flows that look for their share, and short flows that are notified of it.
const SHORT_BESIDE_LONG: Demonstration = Demonstration {
    scenario: "racks",
    out: "out/demo-rackcc",
    variants: &[
        (
            "dctcp",
            &[
                "traffic.long.cc={ dctcp = {} }",
                "traffic.short.cc={ dctcp = {} }",
                "switches.default={ buffer = { size = \"75 kB\", sharing = \"per_port\" }, \
                 marking = { step = { k = \"37500 B\" } } }",
                // What the scenario expects is what RackCC does.
                "expect=[]",
            ],
        ),
        ("rackcc", &[]),
    ],
};

/// Messages of ranks over streams, which go on with the window of the one before.
const STREAMS: &str = "traffic.gradients.transport={ keep_connections = true, ack_every = 1, min_rto = \"5 ms\", \
                       initial_rto = \"20 ms\" }";

/// Gradients over a WAN beside web search traffic.
const GRADIENTS: Demonstration = Demonstration {
    scenario: "training",
    out: "out/demo-training",
    variants: &[
        ("dcqcn", &[]),
        (
            "gemini",
            &[
                "traffic.gradients.rdma=off",
                STREAMS,
                "traffic.gradients.cc={ gemini = {} }",
                "traffic.search.transport.ack_every=1",
                "traffic.search.cc={ gemini = {} }",
                "switches.default.marking={ step = { k = \"150 kB\" } }",
            ],
        ),
        (
            "annulus",
            &[
                "traffic.gradients.rdma=off",
                STREAMS,
                "traffic.gradients.cc={ annulus = { end_to_end = { gemini = {} } } }",
                "traffic.search.transport.ack_every=1",
                "traffic.search.cc={ annulus = { end_to_end = { gemini = {} } } }",
                "switches.default.marking={ step = { k = \"150 kB\" } }",
                "switches.default.congestion_point={ qcn = { message = { reach = \"tor_agg\" } } }",
            ],
        ),
    ],
};

/// Shows what the simulator is for.
pub(crate) fn demo(arguments: &args::Demo) -> Checked<Status> {
    match arguments.subject {
        #[cfg(target_os = "linux")]
        args::DemoSubject::Live => demo_live(arguments),
        args::DemoSubject::Wan => demo_sweep(&WAN, arguments),
        args::DemoSubject::Successors => demo_sweep(&SUCCESSORS, arguments),
        args::DemoSubject::TwoDcMix => compare(&TWO_DC_MIX, arguments),
        args::DemoSubject::Bcn => compare(&VICTIM, arguments),
        args::DemoSubject::Dvl => compare(&INCAST_VICTIM, arguments),
        args::DemoSubject::Rackcc => compare(&SHORT_BESIDE_LONG, arguments),
        args::DemoSubject::Training => compare(&GRADIENTS, arguments),
    }
}

fn compare(demonstration: &Demonstration, arguments: &args::Demo) -> Checked<Status> {
    let title = demonstration.scenario;
    let base = narrows::templates::find(title).expect("the demonstration is built in").document()?;
    let variant = |(name, overrides): &(&str, &[&str])| {
        let mut document = base.clone();
        overrides.iter().try_for_each(|assignment| document.set(assignment))?;
        Ok(((*name).to_owned(), document))
    };
    let documents = demonstration.variants.iter().map(variant).collect::<Checked<Vec<_>>>()?;
    let seeds = arguments.seeds.unwrap_or(5);
    let contenders = contenders(documents, seeds)?;
    // The demonstration owns its folder, so that it can be repeated.
    let (overwrite, own) = (arguments.out.is_none(), PathBuf::from(demonstration.out));
    let out = arguments.out.clone().unwrap_or(own);
    let show = Show { title, out, overwrite, markdown: false, seeds };
    side_by_side(&contenders, &show, &arguments.execution)
}
