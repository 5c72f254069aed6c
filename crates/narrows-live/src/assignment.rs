//! Which traffic groups have real hosts, with which control of the kernel, and what the kernel does otherwise than the scenario says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use narrows::diagnostic::{Checked, Code, Diagnostic, Rejection};
use narrows::plan::Plan;
use narrows_proto::cc::Ecn;
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::traffic::{Traffic, Transport};
use narrows_sim::{External, HostId};

use crate::fabric::Sizes;
use crate::frames::{ETHERNET, WIRE};
use crate::host::Settings;
use crate::own::{self, Own};

/// More hosts than this are not created.
const MOST_HOSTS: usize = 1_000;

/// Controls that the running kernel has.
pub fn available() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// The part of a plan that real hosts have.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// By group: the kernel's control; none if it is simulated.
    pub(crate) controls: Vec<Option<String>>,
    /// Those of them that are loaded for the run.
    pub(crate) own: Own,
    pub(crate) hosts: Vec<(HostId, Settings)>,
    pub(crate) sizes: Sizes,
    /// Settings that the kernel does not have.
    pub(crate) differences: Vec<String>,
}

impl Assignment {
    /// Groups named in `simulated` stay inside, and those that no kernel can carry.
    ///
    /// # Errors
    /// If a group needs what a real host does not have.
    pub(crate) fn new(plan: &Plan, simulated: &[String], scale: f64, available: &[String]) -> Checked<Self> {
        let mut errors = Vec::new();
        for name in simulated {
            if plan.groups.iter().all(|group| group.name != *name) {
                let message = format!("--simulate \"{name}\": the scenario has no such traffic group");
                let known = plan.groups.iter().map(|group| group.name.as_str());
                errors.push(Diagnostic::error(Code::UnknownName, message).known(name, known));
            }
        }
        let (mut controls, mut own) = (Vec::new(), Own::default());
        for (number, group) in plan.groups.iter().enumerate() {
            let is_stream = matches!(plan.traffic.groups[number].transport, Transport::Stream { .. });
            if !is_stream || simulated.contains(&group.name) {
                controls.push(None);
                continue;
            }
            let control = control_of(plan, number, available, scale, &mut own);
            controls.push(Some(control.unwrap_or_else(|error| {
                errors.push(error);
                group.control.clone()
            })));
        }
        if errors.is_empty() && controls.iter().all(Option::is_none) {
            let message = "no traffic group is left for real hosts";
            let help = "a live run needs a group of streams: traffic.GROUP.cc = { cubic = {} }, say";
            errors.push(Diagnostic::error(Code::NotLive, message).help(help));
        }
        check_hosts(plan, &controls, &mut errors);
        check_patterns(plan, &controls, &mut errors);
        if !errors.is_empty() {
            return Err(Rejection(errors));
        }
        let sizes = sizes(plan, &controls);
        let mut differences = BTreeSet::new();
        let mut settings = BTreeMap::new();
        let rates = plan.network.topology.host_rates();
        for (group, _) in controls.iter().enumerate().filter(|(_, control)| control.is_some()) {
            let Transport::Stream { params, cc } = &plan.traffic.groups[group].transport else { continue };
            differences.extend(differences_of(params, scale));
            let made = settings_of(params, cc.ecn() != Ecn::Off, sizes, scale);
            for host in hosts_of(plan, |other| other == group) {
                let made = Settings { rate: rates[host.index()], ..made.clone() };
                let first = settings.entry(host).or_insert_with(|| made.clone());
                if *first != made {
                    let name = plan.network.topology.host_name(host);
                    let text = format!(
                        "host {name} is in several groups: ECN, initial window and timeouts are those of the first"
                    );
                    differences.insert(text);
                }
            }
        }
        differences.extend(own.names().map(|name| {
            format!("{name} reduces its window at once, also after a loss, where Linux spreads that over a round trip")
        }));
        let hosts = settings.into_iter().collect();
        Ok(Self { controls, own, hosts, sizes, differences: differences.into_iter().collect() })
    }

    /// The part of the traffic that is inside: flows of real hosts have no start.
    pub(crate) fn inside(&self, plan: &Plan) -> Traffic {
        let mut traffic = plan.traffic.clone();
        let is_real = |group: usize| self.controls[group].is_some();
        traffic.rpcs.retain(|rpc| !is_real(plan.traffic.flows[rpc.first.index()].group.index()));
        for spec in &mut traffic.flows {
            if is_real(spec.group.index()) {
                spec.start = Time::NEVER;
            }
        }
        traffic
    }

    pub(crate) fn external(&self) -> External {
        let hosts = self.hosts.iter().map(|(host, _)| *host).collect();
        External { hosts, smallest_packet: self.sizes.smallest }
    }

    /// Names of groups, each with the kernel's control.
    pub(crate) fn named(&self, plan: &Plan) -> Vec<(String, String)> {
        let named = plan.groups.iter().zip(&self.controls);
        named.filter_map(|(group, control)| Some((group.name.clone(), control.clone()?))).collect()
    }
}

/// Name of the kernel's control for this group, which may have to be loaded.
fn control_of(
    plan: &Plan,
    group: usize,
    available: &[String],
    scale: f64,
    own: &mut Own,
) -> Result<String, Diagnostic> {
    let planned = &plan.groups[group];
    let refuse = |message: String, help: String| Err(Diagnostic::error(Code::NotLive, message).help(help));
    let (name, control) = (&planned.name, &planned.control);
    let traffic = &plan.traffic.groups[group];
    if traffic.near_source.is_some() {
        let message = format!("traffic.{name} has a near-source loop, which hosts of a live run do not have");
        return refuse(message, format!("leave the loop out, or --simulate {name}"));
    }
    if available.contains(control) {
        return Ok(control.clone());
    }
    let message = format!("traffic.{name} is under {control}, which the kernel here does not have");
    if let (true, Transport::Stream { cc, .. }) = (own::CONTROLS.contains(&&**control), &traffic.transport) {
        let path = (link_of(plan, group), traffic.largest_packet(), scale);
        let help = |why| format!("{why}; or another control, or --simulate {name}");
        return own.add(cc, path).or_else(|why| refuse(message, help(why)));
    }
    refuse(message, format!("it has {}; another control, or --simulate {name}", available.join(", ")))
}

/// Rate of the links of all senders of a group, if it is one.
fn link_of(plan: &Plan, group: usize) -> Option<BitRate> {
    let rates = plan.network.topology.host_rates();
    let flows = plan.traffic.flows.iter().filter(|spec| spec.group.index() == group);
    let mut rates: Vec<_> = flows.map(|spec| rates[spec.from.index()]).collect();
    rates.sort_unstable();
    rates.dedup();
    if let [rate] = rates[..] { Some(rate) } else { None }
}

/// No host is real and simulated, and there are not too many.
fn check_hosts(plan: &Plan, controls: &[Option<String>], errors: &mut Vec<Diagnostic>) {
    let outside = hosts_of(plan, |group| controls[group].is_some());
    let inside = hosts_of(plan, |group| controls[group].is_none());
    if let Some(both) = outside.intersection(&inside).next() {
        let name = plan.network.topology.host_name(*both);
        let message = format!("host {name} is real for one traffic group and simulated for another");
        let help = "give simulated groups hosts of their own (from, to), or simulate all groups of the host";
        errors.push(Diagnostic::error(Code::NotLive, message).help(help));
    }
    if outside.len() > MOST_HOSTS {
        let message = format!("{} real hosts are more than the {MOST_HOSTS} that are created", outside.len());
        let help = "use fewer hosts, or simulate some groups (--simulate)";
        errors.push(Diagnostic::error(Code::NotLive, message).help(help));
    }
}

/// Patterns that only simulated hosts know.
fn check_patterns(plan: &Plan, controls: &[Option<String>], errors: &mut Vec<Diagnostic>) {
    let flows = &plan.traffic.flows;
    let is_real = |flow: narrows_sim::FlowId| controls[flows[flow.index()].group.index()].is_some();
    let mut refuse = |what: &str| {
        let message = format!("real hosts do not know {what} yet");
        let help = "list the flows in a trace (pattern = { trace = { file = … } }), or simulate the group (--simulate)";
        errors.push(Diagnostic::error(Code::NotLive, message).help(help));
    };
    if plan.traffic.dependents.iter().any(|dependent| is_real(dependent.flow)) {
        refuse("flows that wait for others");
    }
    if plan.traffic.generators.iter().any(|generator| generator.kind.flows().any(is_real)) {
        refuse("clients with one transaction after the other");
    }
}

/// Ends of the flows of some groups.
fn hosts_of(plan: &Plan, of: impl Fn(usize) -> bool) -> BTreeSet<HostId> {
    let flows = plan.traffic.flows.iter().filter(|spec| of(spec.group.index()));
    flows.flat_map(|spec| [spec.from, spec.to]).collect()
}

fn sizes(plan: &Plan, controls: &[Option<String>]) -> Sizes {
    let groups = plan.traffic.groups.iter().zip(controls).filter(|(_, control)| control.is_some());
    let largest = groups.map(|(group, _)| group.largest_packet()).max().unwrap_or_default();
    Sizes { smallest: Bytes::new(84), largest }
}

fn settings_of(params: &Params, ecn: bool, sizes: Sizes, scale: f64) -> Settings {
    let mtu = sizes.largest.saturating_sub(Bytes::new((ETHERNET + WIRE) as u64)).min(params.mtu);
    Settings {
        rate: BitRate::default(),
        scale,
        mtu,
        ecn,
        initial_window: params.initial_window,
        min_rto: on_clock(params.min_rto, scale),
        restart_after_idle: params.restart_after_idle,
        tail_loss_probe: params.tail_loss_probe,
    }
}

fn on_clock(span: Span, scale: f64) -> Span {
    Span::from_secs_f64(span.as_secs_f64() * scale)
}

/// Differences between the kernel and the scenario.
fn differences_of(params: &Params, scale: f64) -> Vec<String> {
    let tick = Span::from_ms(4);
    let mut differences = vec![
        "each flow has a connection of its own, which opens with a handshake".to_owned(),
        "acknowledgments wait as long as Linux lets them, 40 ms at least where they wait".to_owned(),
        "the kernel does not tell of fast recoveries, tail loss probes and spurious recoveries: none are counted"
            .to_owned(),
    ];
    if on_clock(params.min_rto, scale) < tick {
        differences.push(format!(
            "min_rto is {} on the clock, and timers of Linux tick every 1 to 10 ms",
            on_clock(params.min_rto, scale)
        ));
    }
    if scale > 1.0 {
        differences.push("timers of the kernel are not slowed down: delayed acknowledgments (40 ms), the first retransmission timeout (1 s), bursts of segmentation offload (1 ms)".to_owned());
    }
    differences
}
