//! K of GEMINI where it is left to the switches.

use narrows_proto::cc::gemini::MarkingThreshold;
use narrows_proto::cc::{Config, gemini};
use narrows_proto::units::{BitRate, Bytes};
use narrows_sim::switch::{Marking, Step, SwitchConfig};
use narrows_sim::traffic::Transport;
use narrows_sim::{HostId, LinkId, Network, Paths};

use super::Checker;
use super::pairs::Kinds;
use super::traffic::PlannedTraffic;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::{Scenario, gemini_of};

/// Puts the smallest step threshold on all shortest paths of a group into its settings, and the rate of its port if the capacity is
/// left out as well. The scenario must be without mistakes, so that numbers of groups agree.
pub(super) fn fill_in(
    scenario: &mut Scenario,
    network: &Network,
    paths: &Paths<'_>,
    planned: &mut PlannedTraffic,
    checker: &mut Checker<'_>,
) {
    let kinds = Kinds::new(network);
    for (number, group) in scenario.traffic.iter_mut().enumerate() {
        let Some(settings) = group.cc.as_mut().and_then(gemini_of) else { continue };
        if settings.marking_threshold != Some(MarkingThreshold::Switches) {
            continue;
        }
        // Where nothing is marked or marks say nothing, K says nothing.
        let marks = network.switches.iter().flatten().any(|switch| switch.marks());
        let found = (marks && settings.ecn).then(|| {
            let pairs = kinds.pairs(&planned.groups[number], &planned.traffic.flows);
            Ports { network, paths }.lowest(&pairs, &group.name)
        });
        let filled = match found.transpose() {
            Ok(found) => found,
            Err(error) => {
                let path = format!("traffic.{number}.cc.{}", path_within(group.cc.as_ref()));
                checker.error(&path, error);
                continue;
            }
        };
        let fill = |settings: &mut gemini::Params| {
            settings.marking_threshold = filled.map(|(k, _)| k.into());
            if let Some((_, rate)) = filled {
                settings.capacity.get_or_insert(rate);
            }
        };
        fill(settings);
        if let Transport::Stream { cc, .. } | Transport::Rdma { cc, .. } =
            &mut planned.traffic.groups[number].transport
            && let Some(settings) = gemini_of(cc)
        {
            fill(settings);
        }
    }
}

/// Where GEMINI's settings stand.
fn path_within(cc: Option<&Config>) -> &'static str {
    match cc {
        Some(Config::Annulus(_)) => "annulus.end_to_end.gemini",
        _ => "gemini",
    }
}

/// Ports on the ways of a group.
struct Ports<'a> {
    network: &'a Network,
    paths: &'a Paths<'a>,
}

impl Ports<'_> {
    /// The smallest threshold, and the rate of the slowest port that has it.
    fn lowest(&self, pairs: &[(HostId, HostId)], group: &str) -> Result<(Bytes, BitRate), Diagnostic> {
        let topology = &self.network.topology;
        let unclear = |why: String| {
            let message = format!("traffic \"{group}\" leaves K of gemini to the switches, but {why}");
            let help = "set marking_threshold: the backlog above which bottlenecks begin to mark";
            Diagnostic::error(Code::NoSingleThreshold, message).help(help)
        };
        let crossed = self.paths.spread(pairs.iter().map(|(from, to)| (*from, *to, 1.0)));
        let crossed = (0..crossed.len()).filter(|link| crossed[*link] > 0.0).map(LinkId::from);
        let mut lowest = None;
        for link in crossed {
            let Some(switch) = self.switch(link).filter(|switch| switch.marks()) else { continue };
            let Some(k) = self.step(link) else {
                let how = how(switch);
                return Err(unclear(format!("\"{}\" marks by {how}", topology.link_name(link))));
            };
            let here = (k, topology.link(link).wire.rate);
            lowest = Some(lowest.map_or(here, |lowest: (Bytes, BitRate)| lowest.min(here)));
        }
        if let Some((from, to)) = self.paths.avoiding(pairs, |link| self.step(link).is_some()) {
            let [from, to] = [from, to].map(|host| topology.host_name(host));
            return Err(unclear(format!(
                "a path from \"{from}\" to \"{to}\" has no port with a step threshold"
            )));
        }
        lowest.ok_or_else(|| unclear("no flow crosses a switch".into()))
    }

    /// The switch that a link leaves.
    fn switch(&self, link: LinkId) -> Option<&SwitchConfig> {
        self.network.switches[self.network.topology.link(link).from.index()].as_ref()
    }

    fn step(&self, link: LinkId) -> Option<Bytes> {
        match &self.switch(link)?.marking {
            Marking::Step(Step { k, .. }) => Some(k.at(self.network.topology.link(link).wire.rate)),
            _ => None,
        }
    }
}

/// Criterion by which switches without a step threshold mark.
fn how(switch: &SwitchConfig) -> &'static str {
    match switch.marking {
        Marking::Off => "how its flows wait",
        Marking::Step(_) => "its backlog",
        Marking::Red(_) => "RED, between two thresholds",
        Marking::Phantom(_) => "a phantom queue",
        Marking::Codel(_) | Marking::Pie(_) | Marking::Sojourn(_) => "the time that packets wait",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::plan::Plan;

    const TEXT: &str = r#"
version = 2
name = "k"
stop.after = "1 ms"
topology.leaf_spine = { racks = 2, hosts_per_rack = 4, spines = 2, host_rate = "10 Gb/s", uplink_rate = "40 Gb/s", delay = "1 us" }

[switches.tor]
buffer.size = "4 MB"
marking.step.k = { bytes = "100 kB", per = "10 Gb/s" }

[switches.spine]
buffer.size = "4 MB"
marking.step.k = "80 kB"

[[traffic]]
name = "web"
pattern.poisson = { load = 0.3, of = "host_links", sizes = "websearch", between = "other_rack" }
cc.gemini = {}
"#;

    fn planned(overrides: &[&str]) -> Result<Plan, String> {
        let mut document = Document::parse("k.toml", TEXT, "").unwrap();
        overrides.iter().for_each(|assignment| document.set(assignment).unwrap());
        Plan::new(document).map_err(|error| error.to_string())
    }

    /// K in bytes and C in Gb/s that flows take, and those that are stored.
    fn found(overrides: &[&str]) -> [(Option<u64>, Option<f64>); 2] {
        let mut plan = planned(overrides).unwrap_or_else(|error| panic!("{error}"));
        let of = |cc: &mut Config| {
            let settings = gemini_of(cc).expect("it is gemini");
            let k = settings.marking_threshold.map(|k| k.bytes().expect("a size").get());
            (k, settings.capacity.map(|capacity| capacity.as_f64() / 1e9))
        };
        let run = match &mut plan.traffic.groups[0].transport {
            Transport::Stream { cc, .. } => of(cc),
            other => panic!("{other:?}"),
        };
        [run, of(plan.scenario.traffic[0].cc.as_mut().expect("there"))]
    }

    #[test]
    fn k_is_the_smallest_step_threshold_on_any_path_and_c_the_rate_of_its_port() {
        assert_eq!(found(&[]), [(Some(80_000), Some(40.0)); 2]);
        // Inside a rack there are ports of 10 Gb/s only.
        let inside = "traffic.web.pattern.poisson.between=same_rack";
        assert_eq!(found(&[inside]), [(Some(100_000), Some(10.0)); 2]);
        // Equal thresholds are told by the slowest port, and a capacity that is given stays.
        let equal = "switches.spine.marking.step.k=\"100 kB\"";
        assert_eq!(found(&[equal]), [(Some(100_000), Some(10.0)); 2]);
        assert_eq!(found(&["traffic.web.cc.gemini.capacity=\"5 Gb/s\""]), [(Some(80_000), Some(5.0)); 2]);
        let looped = "traffic.web.cc={ annulus = { end_to_end = { gemini = {} } } }";
        assert_eq!(found(&[looped, "switches.tor.congestion_point.qcn={}"]), [(Some(80_000), Some(40.0)); 2]);
    }

    #[test]
    fn all_hosts_that_may_meet_decide_whatever_flows_are_drawn() {
        // In a millisecond hardly any flow starts.
        let few = "traffic.web.pattern.poisson.load=0.001";
        let any = "traffic.web.pattern.poisson.between=any";
        assert_eq!(found(&[any, few, "stop.after=\"20 ms\""]), found(&[any]));
    }

    #[test]
    fn k_that_is_given_or_says_nothing_stays_as_it_is() {
        assert_eq!(found(&["traffic.web.cc.gemini.marking_threshold=\"70 kB\""]), [(Some(70_000), None); 2]);
        assert_eq!(found(&["traffic.web.cc.gemini.ecn=false"]), [(None, None); 2]);
        let off = ["switches.tor.marking=off", "switches.spine.marking=off"];
        assert_eq!(found(&off), [(None, None); 2]);
        assert_eq!(found(&["version=1"]), [(None, None); 2]);
        let asked = "traffic.web.cc.gemini.marking_threshold=switches";
        assert_eq!(found(&["version=1", asked]), found(&[]));
    }

    #[test]
    fn a_stored_scenario_has_it_written_down_and_one_that_was_stored_without_keeps_the_old_default() {
        let plan = planned(&[]).unwrap();
        assert!(
            plan.text.contains("marking_threshold = \"80 kB\"")
                && plan.text.contains("capacity = \"40 Gb/s\"")
        );
        let again = |text: String| Plan::new(Document::parse("again.toml", text, "").unwrap()).unwrap();
        assert_eq!(again(plan.text.clone()).text, plan.text);
        let old =
            plan.text.replace("marking_threshold = \"80 kB\"\n", "").replace("capacity = \"40 Gb/s\"\n", "");
        assert_eq!(again(old.clone()).text, old);
    }

    #[test]
    fn switches_without_one_threshold_on_each_path_are_refused() {
        let refused = |overrides: &[&str]| planned(overrides).expect_err("refused");
        let red = "switches.spine.marking={ red = { min = \"50 kB\", max = \"100 kB\", max_p = 0.1 } }";
        let error = refused(&[red]);
        assert!(
            error.starts_with(
                "k.toml:18:13  traffic \"web\" leaves K of gemini to the switches, but \"spine0 ->"
            ),
            "{error}"
        );
        assert!(error.contains("marks by RED") && error.contains("set marking_threshold"), "{error}");
        // Between racks there is a threshold at the spine, inside a rack there is none.
        let tor = "switches.tor.marking=off";
        assert!(planned(&[tor]).is_ok());
        let error = refused(&[tor, "traffic.web.pattern.poisson.between=any"]);
        assert!(error.contains("a path from \"rack0/host0\" to \"rack0/host1\" has no port"), "{error}");
        assert!(planned(&[red, "traffic.web.cc.gemini.marking_threshold=\"75 kB\""]).is_ok());
    }
}
