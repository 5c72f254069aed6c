//! Decisions of hosts in racks, without a network.

use narrows_proto::cc::rackcc::JumboReport;
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::known::Racks;
use super::{RackAgent, Subflow};
use crate::ids::{FlowId, HostId, NodeId};
use crate::mechanism::at_host::Site;
use crate::mechanism::hosts::Hosts;
use crate::network::Network;
use crate::routing::Routing;
use crate::topology::Topology;

const LINE: BitRate = BitRate::from_gbps(10);

/// A host of the first of three racks.
fn racks(jumboflows: u32) -> Racks {
    let (topology, routing, hosts) = (Topology::default(), Routing::Ecmp, Hosts::Ideal);
    let network = Network {
        topology,
        switches: vec![],
        routing,
        failures: vec![],
        reaction: None,
        hosts,
        ..Network::default()
    };
    let (node, host) = (NodeId(0), HostId(0));
    let site = Site {
        network: &network,
        groups: &[],
        switch: None,
        node,
        host,
        leaf: 0,
        leaves: 3,
        rate: LINE,
        seed: 1,
    };
    Racks::at(&site, RackAgent { jumboflows, ..RackAgent::default() })
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// The switch has reported on a JumboFlow to the second rack.
fn report(racks: &mut Racks, number: u32, alpha: f64, now: Time) {
    let place = racks.place(1, number) as usize;
    let known = &mut racks.known[place];
    (known.report, known.received_at) = (Some(JumboReport { alpha, ..JumboReport::unlimited(LINE) }), now);
}

#[test]
fn a_new_flow_joins_the_jumboflow_with_the_lowest_alpha() {
    let mut racks = racks(3);
    for (number, alpha) in [(0, 0.5), (1, 0.1), (2, 0.3)] {
        report(&mut racks, number, alpha, at(1));
    }
    let place = racks.choose(at(2), FlowId(7), 1);
    assert_eq!(racks.known[place as usize].number, 1);
}

#[test]
fn of_a_jumboflow_without_a_recent_report_nothing_speaks_against_it() {
    let mut racks = racks(2);
    report(&mut racks, 0, 0.5, at(1));
    report(&mut racks, 1, 0.1, at(1_000_000));
    let place = racks.choose(at(1_000_000), FlowId(7), 1);
    assert_eq!(racks.known[place as usize].number, 0, "its alpha of 0.5 is a second old");
}

#[test]
fn inside_the_rack_only_the_link_limits() {
    let mut racks = racks(1);
    let place = racks.place(0, 0) as usize;
    assert_eq!(racks.known[place].report.map(|report| report.share()), Some(LINE));
}

#[test]
fn a_subflow_receives_what_its_destination_advertises_once() {
    let mut racks = racks(1);
    let (jumboflow, destination) = (racks.place(1, 0), racks.destination(HostId(9)));
    let subflow = Subflow { jumboflow, destination, received: 0, registered: true };
    let before = racks.versions(subflow);
    racks.advertised(HostId(9), BitRate::from_gbps(3));
    assert_eq!(racks.versions(subflow), before + 1);
    assert_eq!(racks.destinations[destination as usize].rate, BitRate::from_gbps(3));
}

#[test]
fn before_anything_arrives_a_host_advertises_its_link() {
    let racks = racks(1);
    assert_eq!((racks.receiver.rate.rate(), racks.receiver.received), (LINE, 0));
    assert_eq!(racks.agent.message_size, Bytes::new(84));
}
