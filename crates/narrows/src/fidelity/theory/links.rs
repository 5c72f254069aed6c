//! Links and connections: arithmetic of what is sent when.

use super::{Settings, Theory, Value, theory};

pub(super) const ALL: [Theory; 7] = [
    theory("store_and_forward", "Σ(P/rᵢ + dᵢ) + (n − 1)·P/min r", store_and_forward),
    theory("payload_share", "C · payload/(payload + headers + framing)", payload_share),
    theory("slow_start", "RTT(SYN) + (k − 1)·RTT + Σ(P/rᵢ + dᵢ) + (IW·2^(k−1) − 1)·P/min r", slow_start),
    theory(
        "retries",
        "RTO·(2^k − 1), the first that is after the outage, + RTT(SYN) + Σ(P/rᵢ + dᵢ)",
        retries,
    ),
    theory("delayed_ack", "payload/(RTT + ack_delay)", delayed_ack),
    theory("pause_peak", "XOFF + (1 − C/R)·(2·delay·R + frame + P/2)", pause_peak),
    theory("tail_loss_probe", "RTT(SYN) + last ACK + 2·SRTT + max_ack_delay + Σ(P/rᵢ + dᵢ)", tail_loss_probe),
];

/// n equal packets over links that store and forward.
fn store_and_forward(settings: &Settings<'_>) -> Value {
    let segments = settings.flows()[0].size.as_f64() / settings.payload();
    Value::Seconds(train(settings, segments))
}

/// From the first bit sent to the last bit received of so many full packets.
fn train(settings: &Settings<'_>, packets: f64) -> f64 {
    let slowest = settings.links(0, false).iter().map(|link| link.0).fold(f64::INFINITY, f64::min);
    let packet = settings.packet();
    settings.one_way(0, packet, false) + (packets - 1.0) * packet * 8.0 / slowest
}

fn payload_share(settings: &Settings<'_>) -> Value {
    Value::BitsPerSecond(settings.capacity() * settings.payload() / settings.packet())
}

/// The exchange of SYN and SYN-ACK.
fn handshake(settings: &Settings<'_>) -> f64 {
    let syn = settings.ack(0);
    settings.one_way(0, syn, false) + settings.one_way(0, syn, true)
}

/// IW·(2^k − 1) segments take k rounds (RFC 5681 §3.1, RFC 6928 §2), the rounds before the last a round-trip time each.
fn slow_start(settings: &Settings<'_>) -> Value {
    let window = settings.number("traffic.0.transport.initial_window");
    let segments = settings.flows()[0].size.as_f64() / settings.payload();
    let (mut rounds, mut last, mut sent) = (1.0, window, window);
    while sent < segments {
        last *= 2.0;
        sent += last;
        rounds += 1.0;
    }
    assert!(sent == segments, "{segments} segments are not IW·(2^k − 1)");
    Value::Seconds(handshake(settings) + (rounds - 1.0) * settings.round_trip(0) + train(settings, last))
}

/// A lone segment is retransmitted after RTO, 3·RTO, 7·RTO, … (RFC 6298 §2.1, §5.5) until the link works again.
fn retries(settings: &Settings<'_>) -> Value {
    let (rto, outage) = (settings.span("traffic.0.transport.initial_rto"), settings.span("failures.0.until"));
    let (mut at, mut wait) = (0.0, rto);
    while at < outage {
        at += wait;
        wait *= 2.0;
    }
    let begins = if settings.flag("traffic.0.transport.handshake") { handshake(settings) } else { 0.0 };
    Value::Seconds(at + begins + train(settings, 1.0))
}

/// A window of one segment waits for the delayed acknowledgment in each round (RFC 1122 §4.2.3.2).
fn delayed_ack(settings: &Settings<'_>) -> Value {
    let delay = settings.span("traffic.0.transport.ack_delay");
    Value::BitsPerSecond(settings.payload() * 8.0 / (settings.round_trip(0) + delay))
}

/// After XOFF a round trip of the link is still on its way, less what leaves meanwhile (IEEE 802.1Qbb Annex O); of the packet
/// that the sender has begun, half on average.
fn pause_peak(settings: &Settings<'_>) -> Value {
    let (rate, delay) = settings.links(0, false)[0];
    let (xoff, frame) =
        (settings.bytes("switches.default.pause.xoff"), settings.bytes("switches.default.pause.frame"));
    let arriving = 2.0 * delay * rate / 8.0 + frame + settings.packet() / 2.0;
    Value::Bytes(xoff + (1.0 - settings.capacity() / rate) * arriving)
}

/// The last segment of a flow is lost: with one segment in flight the probe leaves two smoothed round-trip times and the longest delay of
/// an acknowledgment after the last acknowledgment of new data (RFC 8985 §7.2).
fn tail_loss_probe(settings: &Settings<'_>) -> Value {
    let segments = settings.flows()[0].size.as_f64() / settings.payload();
    // All but the last arrive, the last but one at the end of the train; its acknowledgment comes back.
    let last_ack = train(settings, segments - 1.0) + settings.one_way(0, settings.ack(0), true);
    let timeout = 2.0 * settings.round_trip(0) + settings.span("traffic.0.transport.ack_delay");
    Value::Seconds(handshake(settings) + last_ack + timeout + train(settings, 1.0))
}
