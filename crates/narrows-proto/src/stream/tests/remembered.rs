//! Values that a connection has from earlier ones to its host, and those it leaves.

use super::*;
use crate::stream::metrics::Ended;
use crate::stream::{HostMetrics, Remembered};

fn params() -> Params {
    let host_metrics = Some(HostMetrics { ssthresh: true });
    Params { host_metrics, tail_loss_probe: false, ..Params::default() }
}

fn sender(params: &Params) -> Sender {
    let at = Endpoint { link: BitRate::from_gbps(10), seed: 1 };
    Sender::new(params, &Config::Cubic(Default::default()), at, Bytes::new(1_000_000))
}

/// A path of 300 ms, on which slow start ended at 40 segments.
fn known(params: &Params) -> Remembered {
    let mss = params.mss();
    let ended = Ended { srtt: Span::from_ms(300), cwnd: mss * 50, ssthresh: Some(mss * 40), open: true };
    Remembered::after(None, HostMetrics { ssthresh: true }, Time::ZERO, &ended)
}

fn ssthresh(sender: &Sender) -> Option<f64> {
    let mut found = None;
    sender.inside(&mut |name, value| found = value.number().filter(|_| name == "ssthresh_bytes").or(found));
    found
}

#[test]
fn slow_start_ends_where_it_ended_before() {
    let params = params();
    let mut sender = sender(&params);
    assert_eq!(ssthresh(&sender), Some(f64::INFINITY));
    sender.recall(&params, Time::ZERO, known(&params));
    assert_eq!(ssthresh(&sender), Some((params.mss() * 40).as_f64()));
}

#[test]
fn the_first_timeout_is_that_of_the_longer_round_trip() {
    // 300 ms + max(2·300, 200) ms, unless the handshake took longer: 400 ms + 4·200 ms.
    for (handshake, timeout) in [(10, 900), (400, 1200)] {
        let params = params();
        let mut sender = sender(&params);
        sender.start(&params, Time::ZERO);
        sender.recall(&params, Time::ZERO, known(&params));
        assert!(matches!(sender.poll_transmit(&params, Time::ZERO), Poll::Send(Segment { syn: true, .. })));
        let opened = Time::ZERO + Span::from_ms(handshake);
        sender.on_ack(&params, opened, &AckFrame { syn: true, ..AckFrame::default() });
        assert!(matches!(sender.poll_transmit(&params, opened), Poll::Send(_)));
        assert_eq!(sender.next_timer(), opened + Span::from_ms(timeout));
    }
}

#[test]
fn a_connection_in_its_first_slow_start_leaves_its_round_trip_time_alone() {
    let params = Params { handshake: false, ..params() };
    let mut sender = sender(&params);
    sender.start(&params, Time::ZERO);
    assert!(matches!(sender.poll_transmit(&params, Time::ZERO), Poll::Send(_)));
    let later = Time::ZERO + Span::from_ms(30);
    sender.on_ack(&params, later, &AckFrame { ack: params.mss().get(), ..AckFrame::default() });
    let left = sender.remember(&params, later, None).expect("it has the setting");
    assert_eq!(left.path(), (Span::from_ms(30), None));
    let without = Params { host_metrics: None, ..params };
    assert_eq!(sender.remember(&without, later, None), None);
}
