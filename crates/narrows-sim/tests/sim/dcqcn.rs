//! Ten DCQCN flows over one link of 40 Gb/s, held against the fluid model.
//!
//! Where the model rests, packets are marked with the probability (Zhu et al., ECN or Delay, CoNEXT 2016, theorem 1)
//!
//! ```text
//! p ≈ ∛( R_AI·N² / (τ'·C²) · (1/B + N/(T·C))² )
//! ```
//! with rates in packets per second and B in packets. Whether it stays there depends on how old the marks are.

use crate::support::{ENDLESS, Run, at, dcqcn, dcqcn_marking, deep, flow, link, network, rdma, traffic};
use narrows_proto::rdma::Params;
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::observe::PortRow;
use narrows_sim::switch::{MarkAt, Marking, PortKind, Red, SwitchConfig};
use narrows_sim::topology::{Star, Topology};
use narrows_sim::traffic::Traffic;
use narrows_sim::{Hosts, Network, RealHosts};

const FLOWS: u32 = 10;
const RATE: BitRate = BitRate::from_gbps(40);
const PACKET: f64 = 1106.0;

/// Marking of the paper: from 5 kB to 200 kB, where it reaches 1 %, and everything beyond.
fn marking(mark_at: MarkAt) -> Red {
    let Marking::Red(red) = dcqcn_marking() else { unreachable!("DCQCN marks like RED") };
    Red { mark_at, ..red }
}

/// The queue that is marked with the probability of the fixed point.
fn fixed_point(red: &Red) -> f64 {
    let capacity = RATE.as_f64() / 8.0 / PACKET;
    let (flows, additive) = (f64::from(FLOWS), 40e6 / 8.0 / PACKET);
    let (alpha_interval, timer, byte_counter) = (55e-6, 55e-6, 10e6 / PACKET);
    let increases = 1.0 / byte_counter + flows / (timer * capacity);
    let p = (additive * (flows / capacity).powi(2) / alpha_interval * increases.powi(2)).cbrt();
    let (min, max) = (red.min.as_f64(), red.max.as_f64());
    min + p / red.max_p * (max - min)
}

fn star(red: Red, delay: Span, hosts: Hosts) -> (Network, Traffic) {
    let mut topology = Topology::default();
    Star { hosts: FLOWS + 1, rate: RATE, delay }.build(&mut topology, "");
    let ports = if red.mark_at == MarkAt::Dequeue { PortKind::Scheduled } else { PortKind::Plain };
    let switch = SwitchConfig { marking: Marking::Red(red), ports, ..deep() };
    let flows = (0..FLOWS).map(|host| flow(host, FLOWS, ENDLESS)).collect();
    (Network { hosts, ..network(topology, &switch) }, traffic(rdma(Params::default(), dcqcn()), flows))
}

#[derive(Debug)]
struct Queue {
    mean: f64,
    deviation: f64,
    /// Part of the intervals in which less than two packets waited.
    empty: f64,
    used: f64,
}

/// The queue after the first 50 ms.
fn queue(red: Red, delay: Span, hosts: Hosts) -> Queue {
    let (network, traffic) = star(red, delay, hosts);
    let interval = Span::from_us(10);
    let rows = Run::new(&network, &traffic).until(Span::from_ms(200)).ports(interval);
    let bottleneck = link(&network, "switch", &format!("host{FLOWS}"));
    let settled = |row: &&PortRow| row.link == bottleneck && row.start >= at(Span::from_ms(50));
    let rows: Vec<_> = rows.iter().filter(settled).collect();
    let of =
        |value: &dyn Fn(&PortRow) -> f64| rows.iter().map(|row| value(row)).sum::<f64>() / rows.len() as f64;
    let mean = of(&|row| row.mean_backlog);
    Queue {
        mean,
        deviation: of(&|row| (row.mean_backlog - mean).powi(2)).sqrt(),
        empty: of(&|row| f64::from(u8::from(row.mean_backlog < 2.0 * PACKET))),
        used: of(&|row| row.bytes as f64) / (RATE * interval).as_f64(),
    }
}

const SHORT: Span = Span::from_us(1);

#[test]
fn with_marks_at_dequeue_the_queue_stays_at_the_fixed_point() {
    for hosts in [Hosts::Ideal, Hosts::Real(RealHosts::default())] {
        let red = marking(MarkAt::Dequeue);
        let (expected, queue) = (fixed_point(&red), queue(red, SHORT, hosts));
        assert!((expected - 174_000.0).abs() < 1_000.0, "{expected}");
        // The formula leaves out chance, which moves the queue by a fifth. Beyond 200 kB everything is marked, so that it is cut off above
        // and its mean lies below: without that bound it lies as far above (see the next test).
        assert!((queue.mean / expected - 1.0).abs() < 0.12, "{queue:?}, expected {expected}");
        assert!(queue.deviation < 40_000.0 && queue.empty == 0.0 && queue.used > 0.999, "{queue:?}");
    }
}

#[test]
fn where_marking_has_no_upper_bound_the_mean_is_that_of_the_fixed_point_and_chance() {
    // The same slope up to 4 %.
    let red = marking(MarkAt::Dequeue);
    let red = Red { max: Bytes::new(785_000), max_p: 0.04, ..red };
    let (expected, queue) = (fixed_point(&red), queue(red, SHORT, Hosts::Ideal));
    // More flows that have just been cut than the mean has mean more additive increase: 9 % at 5, 10 and 16 flows, 5 % at 2.
    let above = queue.mean / expected - 1.0;
    assert!((0.0..0.15).contains(&above), "{queue:?}, expected {expected}");
}

#[test]
fn marks_that_are_old_make_it_swing_whatever_makes_them_old() {
    // At enqueue a mark waits as long as its packet: 35 us at the fixed point. Links of 10 us in place of 1 us add 36 us to a round trip.
    for (mark_at, delay) in [(MarkAt::Enqueue, SHORT), (MarkAt::Dequeue, Span::from_us(10))] {
        for hosts in [Hosts::Ideal, Hosts::Real(RealHosts::default())] {
            let queue = queue(marking(mark_at), delay, hosts);
            assert!(
                queue.empty > 0.2 && queue.deviation > queue.mean && queue.used < 0.99,
                "{mark_at:?}: {queue:?}"
            );
        }
    }
}
