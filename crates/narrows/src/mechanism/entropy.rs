//! Choice of paths by the senders of packets, checked.

use narrows_proto::cc::Config;
use narrows_proto::rdma::{Paths, Recovery};
use narrows_sim::Routing;
use narrows_sim::traffic::Transport;

use super::{Declare, Entry, Layout, Mechanism};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::Checker;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "entropy",
    summary: "senders choose a path for each packet by an entropy value that switches hash (oblivious spray, REPS)",
    place: "traffic.GROUP.rdma.paths",
    source: "Ultra Ethernet; Bonato et al., arXiv 2407.21625 (REPS)",
    about: &[narrows_proto::docs::ENTROPY],
    settings: &[
        "RdmaPaths",
        "RdmaPathsOblivious",
        "RdmaPathsBitmap",
        "RdmaPathsReps",
        "RdmaPathsRepsLegacy",
        "RdmaPathsMixed",
    ],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("RdmaPathsOblivious", &|ranges| Paths::Oblivious(Default::default()).check(ranges));
        declare("RdmaPathsBitmap", &|ranges| Paths::Bitmap(Default::default()).check(ranges));
        declare("RdmaPathsReps", &|ranges| Paths::Reps(Default::default()).check(ranges));
        declare("RdmaPathsRepsLegacy", &|ranges| Paths::RepsLegacy(Default::default()).check(ranges));
        declare("RdmaPathsMixed", &|ranges| Paths::Mixed(Default::default()).check(ranges));
    }

    /// Tags of limiters stand where packets have their entropy, and telemetry where acknowledgments say which packets have arrived.
    fn check_traffic(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        check_credits(layout, checker);
        for (number, group) in layout.traffic.groups.iter().enumerate() {
            let Transport::Rdma { params, cc } = &group.transport else { continue };
            let path = format!("traffic.{number}.rdma");
            if params.paths.is_some() && layout.network.reaction.is_some() {
                let message = format!(
                    "traffic \"{}\" has paths, and reaction_points put their tag where packets have entropy",
                    group.name
                );
                let error = Diagnostic::error(Code::Conflict, message).help("leave out one of them");
                checker.error(&format!("{path}.paths"), error);
            }
            if params.recovery == Recovery::AnyOrder && cc.reads_telemetry() {
                let message = format!(
                    "traffic \"{}\" takes packets in any order: its acknowledgments have no room for the telemetry that {cc} reads",
                    group.name
                );
                let help = "use recovery = \"selective_repeat\", or a control without telemetry";
                checker.error(
                    &format!("{path}.recovery"),
                    Diagnostic::error(Code::Conflict, message).help(help),
                );
            }
        }
    }

    /// Warns if switches do not look at entropy.
    fn warn(&self, layout: &Layout<'_>, checker: &mut Checker<'_>) {
        if matches!(layout.network.routing, Routing::Ecmp | Routing::Wcmp(_)) {
            return;
        }
        let mut groups = layout.traffic.groups.iter().enumerate();
        if let Some((number, group)) = groups.find(|(_, group)| group.transport.has_entropy()) {
            let message = format!(
                "packets of traffic \"{}\" have entropy, and switches choose paths without it",
                group.name
            );
            let help = "use routing = \"ecmp\", or leave out paths";
            let warning = Diagnostic::warning(Code::NotHashed, message).help(help);
            checker.error(&format!("traffic.{number}.rdma.paths"), warning);
        }
    }
}

/// A host has one pacer for all that it grants.
fn check_credits(layout: &Layout<'_>, checker: &mut Checker<'_>) {
    let mut first = None;
    for (number, group) in layout.traffic.groups.iter().enumerate() {
        let Some(credits) = group.transport.control().and_then(Config::credits) else { continue };
        let (name, of_first) = *first.get_or_insert((&group.name, credits));
        if credits != of_first {
            let message = format!(
                "credits of traffic \"{}\" and of \"{name}\" differ: a host grants at one rate",
                group.name
            );
            let error = Diagnostic::error(Code::Conflict, message).help("give both the same settings");
            checker.error(&format!("traffic.{number}.cc"), error);
        }
    }
}
