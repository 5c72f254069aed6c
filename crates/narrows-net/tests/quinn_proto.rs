//! Endpoints of quinn-proto. TLS draws keys from the machine in each run: none of this depends on them.

#[path = "../examples/controls.rs"]
#[expect(dead_code, reason = "the example has a main function")]
mod controls;

use controls::{Transfer, scenario, under};
use narrows::document::Document;
use narrows::plan::Plan;
use narrows_net::{Codepoint, Datagram, Machine, Net, Socket, Span, Time, Transmit};
use std::sync::Arc;

const ENDS: [&str; 2] = ["dc0/rack0/host0", "dc1/rack0/host0"];

fn at(span: Span) -> Time {
    Time::ZERO + span
}

/// Notes all datagrams of a machine: when, whether it was received, and how large.
struct Noted<'a, M>(&'a mut M, Vec<(Time, bool, usize, Codepoint)>);

impl<M: Machine> Machine for Noted<'_, M> {
    fn socket(&self) -> &Socket {
        self.0.socket()
    }

    fn receive(&mut self, now: Time, datagram: Datagram) {
        self.1.push((now, true, datagram.payload.len(), datagram.ecn));
        self.0.receive(now, datagram);
    }

    fn due(&mut self) -> Time {
        self.0.due()
    }

    fn wake(&mut self, now: Time) {
        self.0.wake(now);
    }

    fn transmit(&mut self, now: Time) -> Option<Transmit> {
        let sent = self.0.transmit(now)?;
        self.1.push((now, false, sent.payload.len(), sent.ecn));
        Some(sent)
    }
}

#[test]
fn times_and_sizes_of_all_datagrams_of_quinn_proto_are_the_same_every_time() {
    let run = |control| {
        let net = Net::new(&scenario(Some("bbr"), None).unwrap(), &ENDS).unwrap();
        let mut transfer = Transfer::new(&net, under(control)).unwrap();
        let end = at(Span::from_secs(2));
        let mut noted = Vec::new();
        while net.now() < end {
            let (mut client, mut server) =
                (Noted(&mut transfer.client, Vec::new()), Noted(&mut transfer.server, Vec::new()));
            net.step(&mut [&mut client, &mut server], end).unwrap();
            noted.extend(client.1);
            noted.extend(server.1);
            transfer.serve();
        }
        noted
    };
    for control in ["cubic", "reno", "bbr"] {
        let first = run(control);
        assert!(first.len() > 2_000, "{} datagrams", first.len());
        assert!(first == run(control), "{control}");
    }
}

#[test]
fn marks_of_switches_slow_quinn_down_and_nothing_is_lost() {
    let plan = |marking: &str| {
        let plan = scenario(None, None).unwrap();
        let mut document = Document::parse("marked.toml", plan.text.clone(), "").unwrap();
        document.set("stop={ after = \"4 s\" }").unwrap();
        document.set(marking).unwrap();
        Arc::new(Plan::new(document).unwrap())
    };
    let run = |marking| {
        let net = Net::new(&plan(marking), &ENDS).unwrap();
        let mut transfer = Transfer::new(&net, under("reno")).unwrap();
        transfer.run(net.end()).unwrap();
        let path = transfer.connection().stats().path;
        drop(transfer);
        let results = net.finish().unwrap();
        let marks: u64 = results.ports.iter().map(|port| port.marks).sum();
        (marks > 0, path.lost_packets > 0, path.congestion_events > 0)
    };
    assert_eq!(run("measure={ from = \"1 s\" }"), (false, true, true));
    let buffer = r#"switches.default={ buffer = { size = "4 MB" }, marking = { step = { k = "100 kB" } } }"#;
    assert_eq!(run(buffer), (true, false, true));
}

#[test]
fn the_largest_datagram_that_the_path_carries_is_found() {
    let net = Net::new(&scenario(None, None).unwrap(), &ENDS).unwrap();
    let mut transport = under("cubic");
    let mut discovery = quinn_proto::MtuDiscoveryConfig::default();
    discovery.upper_bound(4_000).minimum_change(1);
    transport.mtu_discovery_config(Some(discovery));
    let mut transfer = Transfer::new(&net, transport).unwrap();
    transfer.run(at(Span::from_secs(3))).unwrap();
    assert_eq!((transfer.connection().current_mtu(), net.largest_payload()), (1472, 1472));
}
