//! Threads meet when one could affect another.

use narrows_proto::cc::Config;
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::{Execution, External, Session};
use crate::ids::{GroupId, HostId};
use crate::mechanism::hosts::Hosts;
use crate::network::Network;
use crate::routing::Routing;
use crate::switch::{Buffer, Sharing, SwitchConfig};
use crate::topology::{CrossDc, Fabric, Star, Topology, Wan};
use crate::traffic::{FlowSpec, Group, Traffic, Transport};

/// Times that two threads meet in 10 ms in which two data centers, so far apart, are busy, each with itself.
fn meetings(delay: Span) -> usize {
    let mut topology = Topology::default();
    let rate = BitRate::from_gbps(10);
    let wan = Wan { rate, delay, error_rate: 0.0, borders: 1, border_rate: None, border_delay: None };
    let fabric = Fabric::Star(Star { hosts: 2, rate, delay: Span::from_us(1) });
    CrossDc { datacenters: 2, fabric, fabrics: Vec::new(), wan }.build(&mut topology, "");
    let switch = SwitchConfig::new(Buffer { size: Bytes::new(1_000_000), sharing: Sharing::Complete });
    let is_switch = |node: &crate::topology::Node| !matches!(node.kind, crate::topology::NodeKind::Host(_));
    let switches = topology.nodes().iter().map(|node| is_switch(node).then(|| switch.clone())).collect();
    let (routing, hosts) = (Routing::Ecmp, Hosts::Ideal);
    let network = Network {
        topology,
        switches,
        routing,
        failures: vec![],
        reaction: None,
        hosts,
        ..Network::default()
    };
    let cc = Config::Reno(Default::default());
    let transport = Transport::Stream { params: Params { handshake: false, ..Params::default() }, cc };
    let groups = vec![Group { name: "web".into(), transport, priority: 0, near_source: None }];
    let flow = |(from, to)| {
        let (from, to, size) = (HostId(from), HostId(to), Bytes::new(1 << 40));
        FlowSpec { from, to, group: GroupId(0), start: Time::ZERO, size }
    };
    let traffic = Traffic { groups, flows: [(0, 1), (2, 3)].map(flow).into(), ..Traffic::default() };
    let execution = Execution { threads: 2, ..Execution::default() };
    let mut session = Session::new(&network, &traffic, 1, execution, &External::default(), || ());
    session.advance_until(Time::ZERO + Span::from_ms(10));
    session.meeting.barrier.meetings()
}

#[test]
fn threads_meet_as_often_as_one_could_affect_another() {
    let far = meetings(Span::from_ms(1));
    assert!((10..=13).contains(&far), "{far} times");
    let near = meetings(Span::from_us(1));
    assert!(near > 5_000, "{near} times");
}
