//! Whether congestion controls fit the network. What does not fit is warned of: such a run is possible.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use narrows_proto::cc::{Config, Ecn, gemini};
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_proto::{rdma, stream};
use narrows_sim::switch::{MarkAt, Marking, Red, RedAction, Step, SwitchConfig, Threshold};
use narrows_sim::topology::Topology;
use narrows_sim::traffic::{Traffic, Transport};
use narrows_sim::{LinkId, Network};

use super::Checker;
use super::segments::{Segment, segment};
use super::traffic::PlannedTraffic;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::Scenario;

/// Thresholds that differ by less are taken for the same: what counts as a packet differs, with and without framing.
const ABOUT_THE_SAME: f64 = 0.1;

/// Senders slow down where nothing marks, too.
fn is_notified_of_losses(transport: &Transport) -> bool {
    matches!(transport, Transport::Rdma { params, .. } if params.cnp_on_out_of_sequence)
}

/// Looks at controls and network together. Groups and scenario must be without mistakes, so that their numbers agree.
pub(super) fn check(
    scenario: &Scenario,
    network: &Network,
    planned: &PlannedTraffic,
    checker: &mut Checker<'_>,
) {
    let Traffic { groups, flows, .. } = &planned.traffic;
    warn_of_vain_marking(scenario, network, &planned.traffic, checker);
    warn_of_late_marks(scenario, &planned.traffic, checker);
    let host_rates = network.topology.host_rates();
    let marked = network.switches.iter().flatten().any(SwitchConfig::marks);
    for (number, (group, planned)) in groups.iter().zip(&planned.groups).enumerate() {
        let Some(cc) = group.transport.control() else { continue };
        let wrapped = if group.near_source.is_some() { ".annulus.end_to_end" } else { "" };
        let path = format!("traffic.{number}.cc{wrapped}");
        if cc.ecn() != Ecn::Off && !marked && !is_notified_of_losses(&group.transport) {
            let message = format!("traffic \"{}\" uses ECN with {cc}, but no switch marks", group.name);
            let help = "for example marking = { step = { k = \"100 kB\" } } in a table of [switches]";
            checker.error(&path, Diagnostic::warning(Code::NeverMarked, message).help(help));
        }
        match &group.transport {
            Transport::Stream { params, .. } => {
                warn_of_delayed_acks(&path, &group.name, params, cc, checker);
            }
            Transport::Rdma { params, .. } => {
                warn_of_rare_acks(
                    &format!("traffic.{number}.rdma.ack_every"),
                    &group.name,
                    params,
                    cc,
                    checker,
                );
            }
            Transport::Datagram { .. } => {}
        }
        if let Config::Gemini(settings) = cc {
            let rates = flows[planned.flows.clone()].iter().map(|flow| host_rates[flow.from.index()]);
            let at = Gemini {
                settings,
                name: &group.name,
                path: format!("{path}.gemini"),
                packet: group.transport.packet_size(group.transport.full_payload()),
                rates: settings.capacity.map_or_else(|| rates.collect(), |capacity| [capacity].into()),
                network,
            };
            at.check(checker);
        }
    }
}

/// Warns if acknowledgments wait at the receiver that the control takes for delay of the network: Swift and others that want every one
/// whenever they do, other controls if the wait exceeds the retransmission timeout that was chosen for the network.
fn warn_of_delayed_acks(
    path: &str,
    name: &str,
    params: &stream::Params,
    cc: &Config,
    checker: &mut Checker<'_>,
) {
    let (every, wait, min_rto) = (params.ack_every, params.ack_wait(), params.min_rto);
    if every < 2 || !takes_waits_for_delay(cc) {
        return;
    }
    let has = format!("traffic \"{name}\" has ack_every = {every}: an acknowledgment may wait {wait}");
    let warning = if cc.wants_every_ack() {
        let message = format!("{has}, which {cc} takes for delay of the network");
        let help =
            format!("set transport.ack_every = 1; otherwise windows below {every} segments wait every time");
        Diagnostic::warning(Code::DelayedAcks, message).help(help)
    } else if wait > min_rto {
        let message =
            format!("{has}, longer than min_rto = {min_rto}, which {cc} takes for delay of the network");
        let help = "set transport.ack_delay_of_rto = 0.5, or transport.ack_every = 1";
        Diagnostic::warning(Code::DelayedAcks, message).help(help)
    } else {
        return;
    };
    checker.error(path, warning);
}

/// A long round trip is a sign of congestion to it. BBR and those under the switch of their rack read rates, PCC Allegro losses, and Prague
/// marks.
fn takes_waits_for_delay(cc: &Config) -> bool {
    match cc {
        Config::Annulus(annulus) => takes_waits_for_delay(&annulus.end_to_end),
        Config::Bbr(_) | Config::PccAllegro(_) | Config::Prague(_) => false,
        _ => cc.reads_delay() && !cc.needs_rack(),
    }
}

/// Warns if a window may close before an acknowledgment is requested.
fn warn_of_rare_acks(path: &str, name: &str, params: &rdma::Params, cc: &Config, checker: &mut Checker<'_>) {
    let every = params.ack_every;
    // Where any order is as good, what is marked, retransmitted or the last of a window is acknowledged at once, as in Ultra Ethernet's
    // simulator, which has an acknowledgment for 16 KiB otherwise.
    let unacknowledged = params.mtu.saturating_mul(every - 1);
    if params.recovery == rdma::Recovery::AnyOrder && unacknowledged < Bytes::new(16_384) {
        return;
    }
    if every > 1
        && (!cc.needs_rdma() || cc.wants_every_ack() || matches!(cc, Config::Hpcc(_) | Config::Powertcp(_)))
        && !matches!(cc, Config::Fixed(_))
    {
        let message = format!(
            "traffic \"{name}\" requests an acknowledgment with every {every} packets: a window of {cc} that shrinks below \
             that waits for the timeout"
        );
        let warning = Diagnostic::warning(Code::DelayedAcks, message).help("set rdma.ack_every = 1");
        checker.error(path, warning);
    }
}

fn step(switch: &SwitchConfig) -> Option<Threshold> {
    match switch.marking {
        Marking::Step(Step { k, .. }) => Some(k),
        _ => None,
    }
}

/// Warns if switches mark and nobody can be marked.
fn warn_of_vain_marking(
    scenario: &Scenario,
    network: &Network,
    traffic: &Traffic,
    checker: &mut Checker<'_>,
) {
    let ecn = |transport: &Transport| transport.control().is_some_and(|cc| cc.ecn() != Ecn::Off);
    let only_marks = |marking: &Marking| matches!(marking, Marking::Step(_) | Marking::Phantom(_));
    let marks = network.switches.iter().flatten().any(|switch| only_marks(&switch.marking));
    let connections = traffic.groups.iter().any(|group| group.transport.control().is_some());
    if marks && connections && !traffic.groups.iter().any(|group| ecn(&group.transport)) {
        let message = "switches mark, but no traffic uses ECN";
        let class = scenario.switches.iter().find(|(_, switch)| only_marks(&switch.marking));
        let path = class.map_or("switches".into(), |(class, _)| format!("switches.{class}.marking"));
        checker.error(&path, Diagnostic::warning(Code::NeverMarks, message));
    }
}

/// Warns if DCQCN learns of queues from packets that were marked before they waited.
fn warn_of_late_marks(scenario: &Scenario, traffic: &Traffic, checker: &mut Checker<'_>) {
    let Some(group) = traffic.groups.iter().find(|group| group.transport.receives_cnps()) else { return };
    for (class, switch) in &scenario.switches {
        let kind = match &switch.marking {
            Marking::Step(Step { mark_at: MarkAt::Enqueue, .. }) => "step",
            Marking::Red(Red { mark_at: MarkAt::Enqueue, action, .. }) if *action != RedAction::Drop => "red",
            _ => continue,
        };
        let message = format!(
            "traffic \"{}\" uses dcqcn, but switches of class \"{class}\" mark packets before they wait: the queue swings",
            group.name
        );
        let warning = Diagnostic::warning(Code::LateMarks, message).help("set mark_at = \"dequeue\"");
        checker.error(&format!("switches.{class}.marking.{kind}"), warning);
    }
}

/// A group under GEMINI.
struct Gemini<'a> {
    settings: &'a gemini::Params,
    /// Of the group.
    name: &'a str,
    /// Of its settings.
    path: String,
    /// A full packet on the wire.
    packet: Bytes,
    /// Capacities that its flows assume.
    rates: BTreeSet<BitRate>,
    network: &'a Network,
}

impl Gemini<'_> {
    fn check(&self, checker: &mut Checker<'_>) {
        self.check_capacity(checker);
        if self.settings.ecn {
            self.check_marking(checker);
        }
        if self.settings.delay {
            self.check_delay(checker);
        }
    }

    fn warn(&self, key: &str, code: Code, message: String, help: &str, checker: &mut Checker<'_>) {
        checker.error(&format!("{}.{key}", self.path), Diagnostic::warning(code, message).help(help));
    }

    fn check_capacity(&self, checker: &mut Checker<'_>) {
        let (Some(slowest), Some(fastest)) = (self.rates.first(), self.rates.last()) else { return };
        if slowest < fastest {
            let message = format!(
                "gemini has no capacity, so flows of traffic \"{}\" take the rates of their senders' links, {slowest} to \
                 {fastest}",
                self.name
            );
            let help = "set capacity to the rate of the bottlenecks";
            self.warn("capacity", Code::Assumption, message, help, checker);
        }
    }

    /// K against the thresholds of switches.
    fn check_marking(&self, checker: &mut Checker<'_>) {
        let is_set = self.settings.marking_threshold.is_some();
        let Some(capacity) = self.rates.first().filter(|_| is_set || self.rates.len() == 1) else { return };
        let k = Bytes::from_f64(self.settings.threshold(capacity.as_f64(), self.packet));
        let why = if is_set { "" } else { " (50 packets per Gb/s)" };
        let switches = self.network.switches.iter().zip(self.network.topology.ports());
        let switches = switches.filter_map(|(switch, ports)| Some((switch.as_ref()?, ports)));
        let marking: Vec<_> = switches.filter(|(switch, _)| switch.marks()).collect();
        let largest = marking.iter().map(|(switch, ports)| switch.buffer.largest_queue(ports.len())).max();
        if let Some(largest) = largest.filter(|largest| k >= *largest) {
            let message = format!(
                "gemini takes marking_threshold = {k}{why}, but a queue of a switch that marks can hold at most {largest}"
            );
            let help = "it should be the threshold of the switches";
            return self.warn("marking_threshold", Code::Threshold, message, help, checker);
        }
        let rate = |link: &LinkId| self.network.topology.link(*link).wire.rate;
        let steps = marking.iter().filter_map(|(switch, ports)| Some((step(switch)?, ports)));
        let steps: BTreeSet<Bytes> =
            steps.flat_map(|(k, ports)| ports.iter().map(move |link| k.at(rate(link)))).collect();
        let fits = |step: &Bytes| (step.as_f64() / k.as_f64() - 1.0).abs() <= ABOUT_THE_SAME;
        if let (Some(least), Some(most)) = (steps.first(), steps.last())
            && !steps.iter().any(fits)
        {
            let above = if least == most { format!("{least}") } else { format!("{least} to {most}") };
            let message =
                format!("gemini takes marking_threshold = {k}{why}, but switches mark above {above}");
            let help = "how much a mark takes of the window is scaled by it: set both to the same";
            self.warn("marking_threshold", Code::Assumption, message, help, checker);
        }
    }

    /// T against the time a queue inside a data center takes to drain.
    fn check_delay(&self, checker: &mut Checker<'_>) {
        let Network { topology, .. } = self.network;
        let Some(longest) = self.inner_queues().min_by_key(|queue| Reverse(queue.delay)) else { return };
        let threshold = self.settings.delay_threshold;
        if threshold < longest.delay {
            let Queue { link, most, delay, marked } = longest;
            let (rate, name) = (topology.link(link).wire.rate, topology.link_name(link));
            let verb = if marked { "is marked only above" } else { "can hold" };
            let message = format!(
                "delay_threshold = {threshold}, but inside a data center the queue of \"{name}\" {verb} {most}, {delay} at \
                 {rate}"
            );
            let help = "T should be large enough to filter out queueing inside data centers (GEMINI §III-D)";
            self.warn("delay_threshold", Code::Assumption, message, help, checker);
        }
    }

    /// Queues of switches inside data centers. Where switches mark, and this traffic listens, they stay near the threshold.
    fn inner_queues(&self) -> impl Iterator<Item = Queue> {
        let Network { topology, switches, .. } = self.network;
        let inner = move |(switch, ports): (&'_ Option<SwitchConfig>, Vec<LinkId>)| {
            let switch = switch.as_ref().filter(|_| is_inside(topology, &ports))?;
            let held = switch.buffer.largest_queue(ports.len());
            // Of the ports of a switch the slowest takes longest.
            let link = ports.into_iter().min_by_key(|link| topology.link(*link).wire.rate)?;
            let rate = topology.link(link).wire.rate;
            let k = step(switch).filter(|_| self.settings.ecn).map(|k| k.at(rate));
            let (most, marked) = (k.unwrap_or(held), k.is_some());
            Some(Queue { link, most, delay: rate.time_to_send(most), marked })
        };
        switches.iter().zip(topology.ports()).filter_map(inner)
    }
}

struct Queue {
    link: LinkId,
    /// The most that waits there, short of bursts.
    most: Bytes,
    /// Time that `most` takes to leave.
    delay: Span,
    marked: bool,
}

/// All these links leave a node of a data center for another one of the same. Border routers are none: theirs is the deep
/// buffer of the wide area.
fn is_inside(topology: &Topology, ports: &[LinkId]) -> bool {
    ports.iter().all(|link| segment(topology, topology.link(*link)) == Segment::Dc)
}
