//! Which traffic groups have real hosts, with which control of the kernel, and what the kernel does otherwise than the scenario says.

use std::collections::{BTreeMap, BTreeSet};

use narrows::diagnostic::{Checked, Code, Diagnostic, Rejection};
use narrows::plan::{Plan, PlannedGroup};
use narrows_proto::annulus::Aggregate;
use narrows_proto::cc::{Config, Ecn};
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::traffic::{Dependent, NearSource, Traffic, Transport};
use narrows_sim::{External, HostId};

use crate::fabric::{GATHER_US, Sizes};
use crate::frames::{ETHERNET, WIRE};
use crate::host::Settings;
use crate::options::Options;
use crate::own::{self, Own, Path};
use crate::program::Program;
use crate::segments::MOST;
use crate::{machine, sys};

/// More hosts than this are not created.
const MOST_HOSTS: usize = 1_000;

/// The part of a plan that real hosts have.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// By group: the kernel's control; none if it is simulated.
    pub(crate) controls: Vec<Option<String>>,
    /// Those of them that are loaded for the run.
    pub(crate) own: Own,
    pub(crate) hosts: Vec<(HostId, Settings)>,
    /// The host of each program.
    pub(crate) programs: Vec<HostId>,
    pub(crate) sizes: Sizes,
    /// Settings that the kernel does not have.
    pub(crate) differences: Vec<String>,
}

impl Assignment {
    /// Groups named in `simulated` stay inside, and those that no kernel can carry.
    ///
    /// # Errors
    /// If a group needs what a real host does not have.
    pub(crate) fn new(plan: &Plan, options: &Options, available: &[String]) -> Checked<Self> {
        let Options { simulated, programs, segments, .. } = options;
        let mut errors = Vec::new();
        check_segments(*segments, &mut errors);
        for name in simulated {
            if plan.groups.iter().all(|group| group.name != *name) {
                let message = format!("--simulate \"{name}\": the scenario has no such traffic group");
                let known = plan.groups.iter().map(|group| group.name.as_str());
                errors.push(Diagnostic::error(Code::UnknownName, message).known(name, known));
            }
        }
        let mut own = Own::default();
        let controls = controls_of(plan, options, available, &mut own, &mut errors);
        let places = Program::hosts(plan, programs, &mut errors);
        if errors.is_empty() && controls.iter().all(Option::is_none) && programs.is_empty() {
            let message = "no traffic group is left for real hosts";
            let help = "a live run needs a group of streams, traffic.GROUP.cc = { cubic = {} }, say, or a program (--run)";
            errors.push(Diagnostic::error(Code::NotLive, message).help(help));
        }
        check_rights(&own, &mut errors);
        check_hosts(plan, &controls, &places, &mut errors);
        check_patterns(plan, &controls, &mut errors);
        if !errors.is_empty() {
            return Err(Rejection(errors));
        }
        let sizes = sizes(plan, &controls);
        let mut differences = BTreeSet::new();
        let settings = settings_of_hosts(plan, &controls, &places, sizes, options, &mut differences);
        differences.extend(differences_of_run(plan, &controls, options));
        differences.extend(own.names().map(|name| {
            format!("{name} reduces its window at once, also after a loss, where Linux spreads that over a round trip")
        }));
        let hosts = settings.into_iter().collect();
        let differences = differences.into_iter().collect();
        Ok(Self { controls, own, hosts, programs: places, sizes, differences })
    }

    /// The part of the traffic that is inside: flows of real hosts have no start.
    pub(crate) fn inside(&self, plan: &Plan) -> Traffic {
        let mut traffic = plan.traffic.clone();
        let is_real = |group: usize| self.controls[group].is_some();
        traffic.rpcs.retain(|rpc| !is_real(plan.traffic.flows[rpc.first.index()].group.index()));
        let groups: Vec<_> = traffic.flows.iter().map(|spec| spec.group.index()).collect();
        traffic.ranks.retain(|rank| !rank.outgoing.iter().any(|lanes| is_real(groups[lanes.first.index()])));
        traffic.dependents.retain(|dependent| !is_real(groups[dependent.flow.index()]));
        traffic
            .generators
            .retain(|generator| !generator.kind.flows().any(|flow| is_real(groups[flow.index()])));
        for spec in &mut traffic.flows {
            if is_real(spec.group.index()) {
                spec.start = Time::NEVER;
            }
        }
        traffic
    }

    pub(crate) fn external(&self) -> External {
        let hosts = self.hosts.iter().map(|(host, _)| *host).collect();
        External { hosts, smallest_packet: self.sizes.smallest, are_machines: true }
    }

    /// Hosts that messages of switches come to, each with a control whose connections react.
    pub(crate) fn near_sources(&self, plan: &Plan) -> BTreeSet<(HostId, &str)> {
        let flows = plan.traffic.flows.iter();
        let near = flows.filter(|spec| plan.traffic.groups[spec.group.index()].near_source.is_some());
        near.filter_map(|spec| Some((spec.from, self.controls[spec.group.index()].as_deref()?))).collect()
    }

    /// Names of groups, each with the kernel's control.
    pub(crate) fn named(&self, plan: &Plan) -> Vec<(String, String)> {
        let named = plan.groups.iter().zip(&self.controls);
        named.filter_map(|(group, control)| Some((group.name.clone(), control.clone()?))).collect()
    }
}

/// By group: the kernel's control; none if it is simulated.
fn controls_of(
    plan: &Plan,
    options: &Options,
    available: &[String],
    own: &mut Own,
    errors: &mut Vec<Diagnostic>,
) -> Vec<Option<String>> {
    let control = |(number, group): (usize, &PlannedGroup)| {
        let is_stream = matches!(plan.traffic.groups[number].transport, Transport::Stream { .. });
        if !is_stream || options.simulated.contains(&group.name) {
            return None;
        }
        Some(control_of(plan, number, available, options.scale, own).unwrap_or_else(|error| {
            errors.push(error);
            group.control.clone()
        }))
    };
    plan.groups.iter().enumerate().map(control).collect()
}

/// Settings of all real hosts; those with programs alone have those of the first group.
fn settings_of_hosts(
    plan: &Plan,
    controls: &[Option<String>],
    with_programs: &[HostId],
    sizes: Sizes,
    options: &Options,
    differences: &mut BTreeSet<String>,
) -> BTreeMap<HostId, Settings> {
    let Options { scale, segments, .. } = *options;
    let mut settings = BTreeMap::new();
    let (rates, groups) = (plan.network.topology.host_rates(), &plan.traffic.groups);
    for (group, control) in controls.iter().enumerate().filter(|(_, control)| control.is_some()) {
        let Transport::Stream { params, cc } = &groups[group].transport else { continue };
        differences.extend(differences_of(params, scale));
        let made = settings_of(params, cc.ecn() != Ecn::Off, sizes, (scale, segments));
        for host in hosts_of(plan, |other| other == group) {
            let made = Settings { rate: rates[host.index()], control: control.clone(), ..made.clone() };
            let first = settings.entry(host).or_insert_with(|| made.clone());
            if *first != (Settings { control: first.control.clone(), ..made }) {
                let name = plan.network.topology.host_name(host);
                let text = format!(
                    "host {name} is in several groups: ECN, initial window and timeouts are those of the first"
                );
                differences.insert(text);
            }
        }
    }
    let params = groups.iter().find_map(|group| match &group.transport {
        Transport::Stream { params, .. } => Some(params.clone()),
        _ => None,
    });
    let like_others = settings_of(&params.unwrap_or_default(), false, sizes, (scale, segments));
    for host in with_programs {
        let made = || Settings { rate: rates[host.index()], ..like_others.clone() };
        settings.entry(*host).or_insert_with(made);
    }
    settings
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
    if let (Some(near), Transport::Stream { cc, .. }) = (&traffic.near_source, &traffic.transport) {
        let message = format!("traffic.{name} has a near-source loop beside {control}");
        let path = (link_of(plan, group), traffic.largest_packet(), scale);
        return with_loop(cc, near, path, own)
            .or_else(|why| refuse(message, format!("{why}; or leave the loop out, or --simulate {name}")));
    }
    if let Transport::Stream { cc: Config::Kernel(params), .. } = &traffic.transport {
        return named(&params.name, plan, group, available, scale, own);
    }
    if available.contains(control) {
        return Ok(control.clone());
    }
    let message = format!("traffic.{name} is under {control}, which the kernel here does not have");
    if let (true, Transport::Stream { cc, .. }) = (own::CONTROLS.contains(&&**control), &traffic.transport) {
        let path = (link_of(plan, group), traffic.largest_packet(), scale);
        let help = |why| format!("{why}; or another control, or --simulate {name}");
        return own.add(cc, path, None).or_else(|why| refuse(message, help(why)));
    }
    refuse(message, format!("it has {}; another control, or --simulate {name}", available.join(", ")))
}

/// The control of the kernel that a group names.
fn named(
    name: &str,
    plan: &Plan,
    group: usize,
    available: &[String],
    scale: f64,
    own: &mut Own,
) -> Result<String, Diagnostic> {
    // The kernel loads a module that it has of this name.
    if available.iter().any(|known| known == name) || sys::has_control(name) {
        return Ok(name.to_owned());
    }
    let group_name = &plan.groups[group].name;
    let message = format!("traffic.{group_name} is under \"{name}\", which the kernel here does not have");
    let error = Diagnostic::error(Code::NotLive, message);
    let ours = Config::all().into_iter().find(|config| {
        own::CONTROLS.contains(&config.name()) && name.strip_prefix("narrows_") == Some(config.name())
    });
    let Some(config) = ours else {
        let loaded = own::CONTROLS.map(|control| format!("narrows_{control}"));
        return Err(error.known(name, available.iter().chain(&loaded).map(String::as_str)));
    };
    let path = (link_of(plan, group), plan.traffic.groups[group].largest_packet(), scale);
    own.add(&config, path, None).map_err(|why| error.help(why))
}

/// A control with a near-source loop beside it.
fn with_loop(cc: &Config, near: &NearSource, path: Path, own: &mut Own) -> Result<String, String> {
    let named = cc.kernel().map(|kernel| {
        let twin = Config::twin_of(kernel);
        let config = Config::all().into_iter().find(|config| Some(config.name()) == twin);
        config.ok_or_else(|| format!("there is none beside \"{}\" of the kernel", kernel.name))
    });
    let named = named.transpose()?;
    if near.per != Aggregate::Flow {
        return Err("in the kernel each connection has a loop of its own (per = \"flow\")".to_owned());
    }
    let line_rate = path.0.ok_or("its senders need links of one rate")?;
    own.add(named.as_ref().unwrap_or(cc), path, Some((&near.params, line_rate)))
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

/// Packets may have so many segments, and devices of this machine take such.
fn check_segments(segments: u32, errors: &mut Vec<Diagnostic>) {
    if !(1..=MOST).contains(&segments) {
        let message = format!("a packet of {segments} segments; 1 to {MOST} are possible");
        errors.push(Diagnostic::error(Code::OutOfRange, message));
    } else if segments > 1
        && let Err(why) = machine::segments()
    {
        errors.push(Diagnostic::error(Code::NoLiveMachine, why));
    }
}

/// Controls that the kernel lacks need rights that real hosts do not need.
fn check_rights(own: &Own, errors: &mut Vec<Diagnostic>) {
    if let (false, Err(why)) = (own.is_empty(), machine::capabilities()) {
        let message = format!("controls and near-source loops are to be loaded into the kernel: {why}");
        errors.push(Diagnostic::error(Code::NoLiveMachine, message));
    }
}

/// No host is real and simulated, and there are not too many.
fn check_hosts(plan: &Plan, controls: &[Option<String>], programs: &[HostId], errors: &mut Vec<Diagnostic>) {
    let mut outside = hosts_of(plan, |group| controls[group].is_some());
    outside.extend(programs);
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

/// Flows that wait for others are on the same side as these.
fn check_patterns(plan: &Plan, controls: &[Option<String>], errors: &mut Vec<Diagnostic>) {
    let flows = &plan.traffic.flows;
    let is_real = |flow: narrows_sim::FlowId| controls[flows[flow.index()].group.index()].is_some();
    let crosses = |dependent: &&Dependent| {
        dependent.after.iter().any(|(flow, _)| is_real(*flow) != is_real(dependent.flow))
    };
    let real = plan
        .groups
        .iter()
        .zip(controls)
        .find(|(group, control)| group.collective.is_some() && control.is_some());
    if let Some((group, _)) = real {
        let message = format!("traffic.{} is a collective, whose ranks are simulated", group.name);
        errors.push(Diagnostic::error(Code::NotLive, message).help("simulate it (--simulate)"));
    }
    if let Some(Dependent { flow, .. }) = plan.traffic.dependents.iter().find(crosses) {
        let name = &plan.groups[flows[flow.index()].group.index()].name;
        let message = format!(
            "traffic.{name} has flows that wait for others, of which some are on real hosts and others are not"
        );
        let help = "all of them have to be real, or all simulated (--simulate)";
        errors.push(Diagnostic::error(Code::NotLive, message).help(help));
    }
}

/// Ends of the flows of some groups.
fn hosts_of(plan: &Plan, of: impl Fn(usize) -> bool) -> BTreeSet<HostId> {
    let flows = plan.traffic.flows.iter().filter(|spec| of(spec.group.index()));
    flows.flat_map(|spec| [spec.from, spec.to]).collect()
}

fn sizes(plan: &Plan, controls: &[Option<String>]) -> Sizes {
    let only = controls.iter().any(Option::is_some);
    let groups = plan.traffic.groups.iter().zip(controls).filter(|(_, control)| control.is_some() || !only);
    let largest = groups.map(|(group, _)| group.largest_packet()).max().unwrap_or_default();
    Sizes { smallest: Bytes::new(84), largest }
}

fn settings_of(params: &Params, ecn: bool, sizes: Sizes, (scale, segments): (f64, u32)) -> Settings {
    let mtu = sizes.largest.saturating_sub(Bytes::new((ETHERNET + WIRE) as u64)).min(params.mtu);
    Settings {
        rate: BitRate::default(),
        scale,
        segments,
        mtu,
        ecn,
        initial_window: params.initial_window,
        min_rto: on_clock(params.min_rto, scale),
        restart_after_idle: params.restart_after_idle,
        tail_loss_probe: params.tail_loss_probe,
        control: None,
    }
}

/// Differences that do not come of settings of groups.
fn differences_of_run(plan: &Plan, controls: &[Option<String>], options: &Options) -> Vec<String> {
    let Options { scale, segments, programs, .. } = options;
    let mut groups = plan.traffic.groups.iter().zip(controls);
    let mut differences = Vec::new();
    if groups.any(|(group, control)| control.is_some() && group.near_source.is_some()) {
        differences.push("near-source loops look at messages, bytes sent and the time at each acknowledgment, and pace payload alone".to_owned());
    }
    if *scale > 1.0 && !programs.is_empty() {
        differences.push("programs have the clock of the machine, which is not slowed down".to_owned());
    }
    if *segments > 1 {
        differences.push(format!(
            "real hosts hand over up to {segments} segments at once, which the fabric carries one by one, and receive those together that leave \
             it within {GATHER_US} us: there are fewer acknowledgments"
        ));
    }
    differences
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
        "the kernel does not report fast recoveries, tail loss probes and spurious recoveries: none are counted"
            .to_owned(),
    ];
    if on_clock(params.min_rto, scale) < tick {
        differences.push(format!(
            "min_rto is {} on the clock, and timers of Linux tick every 1 to 10 ms",
            on_clock(params.min_rto, scale)
        ));
    }
    if scale > 1.0 {
        differences.push("timers of the kernel are not slowed down: delayed acknowledgments (40 ms), the first retransmission timeout (1 s), bursts of segmentation offload (1 ms), the time by which CUBIC grows, what BBR remembers (10 s)".to_owned());
    }
    differences
}
