//! Bursts of senders with segmentation offload, and the queues they meet.

use narrows_proto::stream;
use narrows_proto::units::Bytes;
use narrows_sim::traffic::{FlowSpec, Transport};
use narrows_sim::{FlowId, LinkId, Network, Paths};

use super::Checker;
use super::traffic::PlannedTraffic;
use crate::diagnostic::{Code, Diagnostic};

/// Of a group so many flows are looked at.
const FLOWS: usize = 100;

/// Warns of traffic whose bursts overflow a queue of their own: at a port that is slower than what it gets, a part of each burst
/// waits.
pub(super) fn check(
    network: &Network,
    paths: &Paths<'_>,
    planned: &PlannedTraffic,
    checker: &mut Checker<'_>,
) {
    let ports = network.topology.ports();
    for (number, (group, of_group)) in planned.traffic.groups.iter().zip(&planned.groups).enumerate() {
        let Transport::Stream { params, .. } = &group.transport else { continue };
        if params.segmentation.is_none() {
            continue;
        }
        let flows = of_group.flows.clone().zip(&planned.traffic.flows[of_group.flows.clone()]);
        let worst = flows
            .take(FLOWS)
            .flat_map(|(flow, spec)| overflows(network, paths, FlowId::from(flow), spec, params, &ports))
            .max_by_key(|overflow| overflow.waits);
        let Some(Overflow { link, burst, waits, holds }) = worst else { continue };
        let (rate, name) = (network.topology.link(link).wire.rate, network.topology.link_name(link));
        let message = format!(
            "of a burst of traffic \"{}\" of {burst} on the wire {waits} wait at \"{name}\" ({rate}), where a queue holds at most \
             {holds}: a part of it is lost even if nothing else is on the way",
            group.name
        );
        let help = "set segmentation.most or segmentation.within lower, or give the switch a larger buffer";
        let warning = Diagnostic::warning(Code::Bursts, message).help(help);
        checker.error(&format!("traffic.{number}.transport.segmentation"), warning);
    }
}

/// A queue that does not hold what waits there of a single burst.
struct Overflow {
    link: LinkId,
    burst: Bytes,
    waits: Bytes,
    holds: Bytes,
}

/// The queues on the way of a flow that do not hold its bursts.
fn overflows(
    network: &Network,
    paths: &Paths<'_>,
    flow: FlowId,
    spec: &FlowSpec,
    params: &stream::Params,
    ports: &[Vec<LinkId>],
) -> Vec<Overflow> {
    let Some(hops) = paths.ways((flow, false), spec.from, spec.to) else { return Vec::new() };
    let Some(settings) = &params.segmentation else { return Vec::new() };
    let rate = |link: &LinkId| network.topology.link(*link).wire.rate;
    // Its rate is at most twice what the slowest link of its way carries (slow start).
    let slowest = hops.iter().filter_map(|links| links.iter().map(rate).min()).min();
    let Some(slowest) = slowest else { return Vec::new() };
    let packet = params.packet_size(params.mss());
    let burst = packet * settings.largest(params.mss(), packet, slowest.scaled(2.0));
    let mut arrives = rate(&hops[0][0]);
    let mut found = Vec::new();
    for links in &hops[1..] {
        for link in links {
            let node = network.topology.link(*link).from;
            let Some(switch) = &network.switches[node.index()] else { continue };
            let holds = switch.buffer.largest_queue(ports[node.index()].len());
            let passes = (rate(link).as_f64() / arrives.as_f64()).min(1.0);
            let waits = Bytes::from_f64(burst.as_f64() * (1.0 - passes));
            if waits > holds {
                found.push(Overflow { link: *link, burst, waits, holds });
            }
        }
        arrives = arrives.min(links.iter().map(rate).max().unwrap_or(arrives));
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::{Code, Diagnostic};
    use crate::document::Document;
    use crate::plan::Plan;

    /// 10 Gb/s into 1 Gb/s, where 9 parts of 10 of a burst of 45 packets of 1538 B wait: 62 289 B.
    const TEXT: &str = r#"
version = 1
name = "bursts"
stop = { after = "1 ms" }

[topology.dumbbell]
hosts = 1
host_rate = "10 Gb/s"
bottleneck_rate = "1 Gb/s"
host_delay = "1 us"
bottleneck_delay = "1 us"

[switches.default]
buffer = { size = "1 MB", sharing = "per_port" }

[[traffic]]
name = "bulk"
pattern = { permutation = { size = "1 MB" } }
cc = { reno = {} }
transport.segmentation = {}
"#;

    /// Diagnostics of the scenario with these overrides: errors, then warnings of bursts.
    fn told(overrides: &[&str]) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let mut document = Document::parse("bursts.toml", TEXT, "").unwrap();
        overrides.iter().for_each(|assignment| document.set(assignment).unwrap());
        match Plan::new(document) {
            Ok(plan) => {
                (Vec::new(), plan.warnings.into_iter().filter(|told| told.code == Code::Bursts).collect())
            }
            Err(rejection) => (rejection.0, Vec::new()),
        }
    }

    #[test]
    fn bursts_above_the_buffer_are_warned_of() {
        let with = |size: u64, others: &[&str]| {
            let size = format!("switches.default.buffer.size=\"{size} B\"");
            let (errors, warnings) = told(&[&[size.as_str()], others].concat());
            assert!(errors.is_empty(), "{errors:?}");
            warnings.first().map(|warning| warning.message.clone())
        };
        assert_eq!(with(62_289, &[]), None);
        let warning = with(62_288, &[]).expect("it does not fit");
        assert!(warning.contains("69.21 kB on the wire 62.289 kB wait"), "{warning}");
        assert_eq!(with(62_288, &["traffic.bulk.transport.segmentation.most=\"60 kB\""]), None);
        // Twice the rate of the bottleneck sends 250 kB in 1 ms, and 25 kB in 0.1 ms.
        assert_eq!(with(62_288, &["traffic.bulk.transport.segmentation.within=\"100 us\""]), None);
        assert_eq!(with(62_288, &["topology.dumbbell.bottleneck_rate=\"10 Gb/s\""]), None);
    }

    #[test]
    fn offloads_without_room_for_two_segments_are_refused() {
        for (key, value, expected) in [
            ("segmentation.most", "\"2895 B\"", "room for two full segments"),
            ("segmentation.least", "0", "1 to 1 000 segments"),
            ("segmentation.within", "\"0 s\"", "1 us to 1 s"),
            ("receive_offload.most", "\"2895 B\"", "room for two full segments"),
            ("receive_offload.within", "\"1 s\"", "at most 100 ms"),
        ] {
            let (errors, _) = told(&[&format!("traffic.bulk.transport.{key}={value}")]);
            let [error] = &errors[..] else { panic!("{key}: {errors:?}") };
            assert_eq!(error.code, Code::OutOfRange);
            assert!(error.message.contains(key) && error.message.contains(expected), "{error}");
        }
    }
}
