use super::accurate_ecn::AccurateEcn;
use super::ack_timeout::AckTimeout;
use super::metrics::HostMetrics;
use super::probe_timeout::ProbeTimeout;
use super::profile::{Profile, or_false};
use super::receive_buffer::ReceiveBuffer;
use super::receive_offload::ReceiveOffload;
use super::segmentation::Segmentation;
use crate::cc::{Config, Ecn, OutOfRange, PeerEcn, Ranges};
use crate::units::{Bytes, Span};

/// Settings of a stream connection.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Stream")]
pub struct Params {
    /// Whose defaults the settings of connections and of their congestion control have that a scenario leaves out: those of a version of
    /// Linux, or, in `rdma`, those of a network card. A stored scenario has the settings in place of this.
    #[serde(skip_serializing)]
    pub profile: Option<Profile>,
    /// Largest network-layer packet.
    pub mtu: Bytes,
    /// The part of every packet that is not payload: 20 B IPv4, 20 B TCP, 12 B timestamp option.
    pub headers: Bytes,
    /// Bytes that the link adds to every packet: Ethernet header and checksum 18 B, preamble and gap 20 B. Counted in buffers
    /// as well as on the wire.
    pub framing: Bytes,
    /// Smallest packet on the wire, framing included: a 64 B frame, preamble and gap.
    pub min_packet: Bytes,
    /// Segments that may be sent before the first acknowledgment (RFC 6928: 10).
    pub initial_window: u64,
    /// Room of the receiver: no more may be on its way (RFC 9293 §3.8.6). Unlimited if left out.
    pub receive_window: Option<Bytes>,
    /// A receive buffer that grows with what arrives, and announces how much it has room for; `{}` is what Linux does. No such limit
    /// if left out.
    #[serde(deserialize_with = "or_false")]
    pub receive_buffer: Option<ReceiveBuffer>,
    /// Room of the sender: data stays there until everything before it has been acknowledged, so that no more of a connection
    /// is on its way. In Linux it grows ahead of the window, up to the third number of `tcp_wmem`. Unlimited if left out.
    pub send_buffer: Option<Bytes>,
    /// Exchange SYN and SYN-ACK before the first data.
    pub handshake: bool,
    /// Keep the connection of a complete flow for the next flow of the same traffic from and to the same hosts, which then
    /// begins without a handshake, and with the window, round-trip time and pacing that the last flow left.
    pub keep_connections: bool,
    /// A kept connection that has sent nothing for more than a retransmission timeout begins again with the initial window
    /// (RFC 5681 §4.1; `tcp_slow_start_after_idle` of Linux). `false` lets the window stand.
    pub restart_after_idle: bool,
    /// After an idle time the window is halved for each retransmission timeout that it lasted, down to the initial window (RFC 2861,
    /// Linux), not cut at once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub halve_after_idle: bool,
    /// Values that connections to a host leave to later ones: round-trip time and slow start threshold; nothing if left out.
    #[serde(deserialize_with = "or_false")]
    pub host_metrics: Option<HostMetrics>,
    /// An acknowledgment for every so many segments; 1 acknowledges each at once (RFC 5681 §4.2: at least every 2).
    pub ack_every: u64,
    /// The longest an acknowledgment waits for more segments. Linux waits at least 40 ms, RFC 1122 §4.2.3.2 allows 500 ms.
    pub ack_delay: Span,
    /// No acknowledgment waits for longer than this part of `min_rto`, whatever `ack_delay` is, so that the sender does not
    /// take a wait for a loss. 0.5 leaves as much again for the network. Linux, since version 6.11, stays one tick below its
    /// minimum. No such bound if left out.
    pub ack_delay_of_rto: Option<f64>,
    /// The time an acknowledgment waits follows the gaps between segments, in place of `ack_delay`; `{}` is what Linux does.
    #[serde(deserialize_with = "or_false")]
    pub ack_timeout: Option<AckTimeout>,
    /// So many segments are acknowledged at once when a flow begins, and after a pause of more than `min_rto`: quick-ack mode.
    /// No more than half of what `receive_window` holds. Linux has 16. None if left out.
    pub quick_acks: Option<u64>,
    /// Either end of a kept connection goes on with the quick acknowledgments that the last flow has left, and takes the connection for
    /// interactive as soon as it sends a flow shortly after one has arrived, as servers do and clients that ask again within the wait of
    /// an acknowledgment: then none is quick. The pingpong mode of Linux.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pingpong: bool,
    /// Segments that are acknowledged at once when the receiver begins to echo marks (RFC 3168), which ends interactive mode; no more than
    /// half of what `receive_window` holds. Where it echoes each mark (RFC 8257), the first segment after a change of marks is. Linux
    /// has 2. None if left out.
    pub mark_acks: Option<u64>,
    /// A segment that reports a reduced window (CWR) is acknowledged at once, as Linux does since 4.19.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ack_cwr: bool,
    /// A segment that says PSH, for whose acknowledgment there is no other reason, is acknowledged so much later: in Linux when the
    /// application has read it (`__tcp_cleanup_rbuf`). 0 s: at once. Without `push_bursts` none says so.
    #[serde(skip_serializing_if = "is_default")]
    pub push_ack_delay: Span,
    /// A SYN is answered so much later than a segment: who listens makes a connection first (`tcp_conn_request` of Linux). 0 s: at once.
    #[serde(skip_serializing_if = "is_default")]
    pub syn_ack_delay: Span,
    /// The retransmission timeout exceeds the smoothed round-trip time by at least this. Linux has 200 ms, RFC 6298 §2.4
    /// requires 1 s in all, data centers use 1 to 10 ms.
    pub min_rto: Span,
    /// Retransmission timeout before the first round-trip sample (RFC 6298 §2.1: 1 s).
    pub initial_rto: Span,
    /// Upper bound of the retransmission timeout with back-off (RFC 6298 §2.5: at least 60 s).
    pub max_rto: Span,
    /// The margin of the timeout is the largest deviation of a round trip and falls by a quarter of the difference in each, as in Linux,
    /// in place of RFC 6298 §2.3.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub peak_deviation: bool,
    /// Probe for lost tails before the timeout (RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// Timeout before a probe. If left out: 2·SRTT, for a segment alone the wait of a delayed acknowledgment besides (RFC 8985 §7.2).
    #[serde(deserialize_with = "or_false")]
    pub probe_timeout: Option<ProbeTimeout>,
    /// The timer for what may prove a loss by time (RFC 8985 §6.2 step 5) expires so much later, but no later than the retransmission
    /// timeout. Linux 6.12 has 2 ms; none if left out.
    pub reordering_slack: Option<Span>,
    /// Spread the repair of a window over a round trip (PRR, RFC 9937).
    pub proportional_rate_reduction: bool,
    /// Spread what a mark takes off the window over a round trip in the same way, during which the window does not grow (`CWR` state of
    /// Linux). `false` waits until less is in flight than the reduced window.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub spread_marks: bool,
    /// Losses, marks and timeouts take their part off the window, as in Linux. `false`: off what is in flight (RFC 5681 §3.1, RFC 9438
    /// §4.6), which is less where bursts wait for room.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reduce_window: bool,
    /// Pace controls that only give a window, at 1.25·cwnd/SRTT (RFC 9002 §7.7).
    pub pace_windows: bool,
    /// In place of 1.25: 2 while the window doubles, 1.2 otherwise (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio` of Linux).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pace_by_growth: bool,
    /// Pacing begins with the burst that contains this segment of the connection, counted from 1: what was sent before leaves at
    /// once. Linux has 10. The first if left out.
    pub pace_from: Option<u64>,
    /// A burst that leaves late lets the next one follow so much sooner, up to this part of its own time. Linux has 0.5. If left out
    /// all of its time, but nothing if it is later than that.
    pub pacing_credit: Option<f64>,
    /// Packets that may be marked say ECT(1) in place of ECT(0): those of scalable controls, which are notified of every mark (L4S,
    /// RFC 9331 §4.1). A switch with `dualpi2` has a queue for them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub l4s: bool,
    /// Acknowledgments count marked packets, for controls that are notified of every mark (accurate ECN feedback, RFC 9768). If left out
    /// `prague` has `count`, and for others the receiver reports which bytes were marked (RFC 8257 §3.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accurate_ecn: Option<AccurateEcn>,
    /// Feedback of marks that the receiver has. If it has only that of RFC 3168, `prague` becomes Reno with ECN, which says ECT(0), and
    /// packets of other controls that are notified of every mark cannot be marked. If it has none, no packet can, and `prague` becomes
    /// Reno.
    #[serde(skip_serializing_if = "is_default")]
    pub peer_ecn: PeerEcn,
    /// Segments leave in bursts, as hosts with segmentation offload (TSO, GSO) send them; one by one if left out. `{}` is what Linux
    /// does. Bursts arrive back to back, so switches that mark at a small queue mark more of them than of single segments.
    #[serde(deserialize_with = "or_false")]
    pub segmentation: Option<Segmentation>,
    /// The last segment of a burst of several says so (PSH): receive offload hands on what it has, and the segment is acknowledged at
    /// once unless the connection is interactive. Linux does so since 6.6. Without `segmentation` there are no bursts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub push_bursts: bool,
    /// Receivers merge segments that arrive shortly after each other and acknowledge them together, as hosts with receive offload
    /// (GRO, LRO) do; each segment by itself if left out.
    #[serde(deserialize_with = "or_false")]
    pub receive_offload: Option<ReceiveOffload>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Params {
    fn default() -> Self {
        Self {
            profile: None,
            mtu: Bytes::new(1500),
            headers: Bytes::new(52),
            framing: Bytes::new(38),
            min_packet: Bytes::new(84),
            initial_window: 10,
            receive_window: None,
            receive_buffer: None,
            send_buffer: None,
            handshake: true,
            keep_connections: false,
            restart_after_idle: true,
            halve_after_idle: false,
            host_metrics: None,
            ack_every: 2,
            ack_delay: Span::from_ms(40),
            ack_delay_of_rto: None,
            ack_timeout: None,
            quick_acks: None,
            pingpong: false,
            mark_acks: None,
            ack_cwr: false,
            push_ack_delay: Span::ZERO,
            syn_ack_delay: Span::ZERO,
            min_rto: Span::from_ms(200),
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(60),
            peak_deviation: false,
            tail_loss_probe: true,
            probe_timeout: None,
            reordering_slack: None,
            proportional_rate_reduction: true,
            spread_marks: false,
            reduce_window: false,
            pace_windows: false,
            pace_by_growth: false,
            pace_from: None,
            pacing_credit: None,
            l4s: false,
            accurate_ecn: None,
            peer_ecn: PeerEcn::Accurate,
            segmentation: None,
            push_bursts: false,
            receive_offload: None,
        }
    }
}

impl Params {
    /// Payload of a full segment.
    pub fn mss(&self) -> Bytes {
        self.mtu - self.headers
    }

    /// The window before the first acknowledgment.
    pub(super) fn first_window(&self) -> Bytes {
        self.mss() * self.initial_window
    }

    /// The most bytes from the first that has not been acknowledged to the last that was sent: what both ends have room for.
    pub(super) fn most_on_its_way(&self) -> u64 {
        let [window, buffer] = [self.receive_window, self.send_buffer];
        window.unwrap_or(Bytes::MAX).min(buffer.unwrap_or(Bytes::MAX)).get()
    }

    /// The most payload that a connection can have in flight, however large its window: room in its send buffer, in a fixed
    /// receive window, and in the receive buffer once that has grown. None without such a bound.
    pub fn most_in_flight(&self) -> Option<Bytes> {
        let grown = self.receive_buffer.map(|buffer| Bytes::from_f64(buffer.most.as_f64() * buffer.part));
        [self.receive_window, self.send_buffer, grown].into_iter().flatten().min()
    }

    /// Delay of an acknowledgment at first, and where that does not follow the gaps between segments.
    pub fn ack_wait(&self) -> Span {
        self.ack_wait_of(self.ack_timeout.map_or(self.ack_delay, |timeout| timeout.least))
    }

    /// A wait of `delay`, bounded by its part of the retransmission timeout.
    pub(super) fn ack_wait_of(&self, delay: Span) -> Span {
        let of_rto = |part| Span::from_secs_f64(self.min_rto.as_secs_f64() * part);
        self.ack_delay_of_rto.map_or(delay, |part| delay.min(of_rto(part)))
    }

    /// The receiver keeps more than when the last segment arrived.
    #[inline(always)]
    pub(super) fn follows_arrivals(&self) -> bool {
        self.ack_timeout.is_some() | self.receive_buffer.is_some()
    }

    /// The receiver notes when segments arrive.
    #[inline(always)]
    pub(super) fn notes_arrivals(&self) -> bool {
        self.quick_acks.is_some() | self.follows_arrivals()
    }

    /// The last byte that may be sent before the receiver has announced a window.
    pub fn first_edge(&self) -> u64 {
        self.receive_buffer.map_or(u64::MAX, |buffer| buffer.first(self.mss()))
    }

    /// Segments acknowledged at once in quick-ack mode. Linux: rcv_wnd/(2·mss), at least two.
    pub(super) fn quick_acks(&self) -> u64 {
        self.quick_acks.map_or(0, |acks| acks.min(self.most_quick()))
    }

    /// Segments acknowledged at once when marks begin.
    pub(super) fn mark_acks(&self) -> u64 {
        self.mark_acks.map_or(0, |acks| acks.min(self.most_quick()))
    }

    fn most_quick(&self) -> u64 {
        let window = self.receive_window.map_or(u64::MAX, Bytes::get).min(self.first_edge());
        (window / (2 * self.mss().get())).max(2)
    }

    /// Size on the wire of a packet with `payload`.
    pub fn packet_size(&self, payload: Bytes) -> Bytes {
        (payload + self.headers + self.framing).max(self.min_packet)
    }

    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { mtu, headers, framing, min_packet, min_rto, initial_rto, max_rto, .. } = *self;
        let largest = Bytes::new(u16::MAX.into());
        ranges.unless(headers < mtu, "mtu", mtu, "more than the headers")?;
        ranges.unless(
            mtu.saturating_add(framing) <= largest,
            "mtu",
            mtu,
            "at most 65 535 B together with the framing",
        )?;
        ranges.unless(min_packet > Bytes::ZERO, "min_packet", min_packet, "more than 0 B")?;
        ranges.unless(min_packet <= mtu + framing, "min_packet", min_packet, "at most mtu + framing")?;
        let window = self.initial_window;
        let in_range = (1..=1_000_000).contains(&window);
        ranges.unless(in_range, "initial_window", window, "1 to 1 000 000 segments")?;
        let window = self.receive_window.unwrap_or(Bytes::MAX);
        ranges.unless(window >= self.mss(), "receive_window", window, "room for a full segment")?;
        let buffer = self.send_buffer.unwrap_or(Bytes::MAX);
        ranges.unless(buffer >= self.mss(), "send_buffer", buffer, "room for a full segment")?;
        let every = self.ack_every;
        ranges.unless((1..=1_000).contains(&every), "ack_every", every, "1 to 1 000 segments")?;
        let part = self.ack_delay_of_rto.unwrap_or(1.0);
        ranges.unless(part > 0.0 && part <= 1.0, "ack_delay_of_rto", part, "more than 0, at most 1")?;
        let acks = self.quick_acks.unwrap_or(1);
        ranges.unless((1..=1_000).contains(&acks), "quick_acks", acks, "1 to 1 000 segments")?;
        let acks = self.mark_acks.unwrap_or(1);
        ranges.unless((1..=1_000).contains(&acks), "mark_acks", acks, "1 to 1 000 segments")?;
        let delays = [("push_ack_delay", self.push_ack_delay), ("syn_ack_delay", self.syn_ack_delay)];
        for (name, delay) in delays {
            ranges.unless(delay <= Span::from_secs(1), name, delay, "at most 1 s")?;
        }
        let credit = self.pacing_credit.unwrap_or(0.0);
        ranges.unless((0.0..=1.0).contains(&credit), "pacing_credit", credit, "0 to 1")?;
        let from = self.pace_from.unwrap_or(1);
        ranges.unless((1..=1_000_000).contains(&from), "pace_from", from, "1 to 1 000 000 segments")?;
        let slack = self.reordering_slack.unwrap_or(Span::ZERO);
        ranges.unless(slack <= Span::from_secs(60), "reordering_slack", slack, "at most 60 s")?;
        ranges.timer("min_rto", min_rto)?;
        ranges.unless(min_rto <= max_rto, "max_rto", max_rto, "at least min_rto")?;
        ranges.timer("initial_rto", initial_rto)?;
        ranges.unless(max_rto <= Span::from_secs(86_400), "max_rto", max_rto, "at most one day")?;
        self.receive_buffer.map_or(Ok(()), |buffer| buffer.check(self.mss(), ranges))?;
        self.ack_timeout.map_or(Ok(()), |timeout| timeout.check(ranges))?;
        self.probe_timeout.map_or(Ok(()), |timeout| timeout.check(ranges))?;
        self.segmentation.map_or(Ok(()), |segmentation| segmentation.check(self.mss(), ranges))?;
        self.receive_offload.map_or(Ok(()), |offload| offload.check(self.mss(), ranges))
    }

    /// Use of marks by connections with this control.
    pub fn ecn(&self, cc: &Config) -> Ecn {
        match (cc.ecn(), self.peer_ecn) {
            (_, PeerEcn::Off) => Ecn::Off,
            (wanted, PeerEcn::Classic) if wanted.is_accurate() => {
                if cc.is_l4s() {
                    Ecn::Classic
                } else {
                    Ecn::Off
                }
            }
            (Ecn::Accurate, _) if self.accurate_ecn.is_some() => Ecn::Counted,
            (other, _) => other,
        }
    }

    /// Packets of data that may be marked say ECT(1).
    pub fn says_l4s(&self, cc: &Config) -> bool {
        (self.l4s || cc.is_l4s()) && self.ecn(cc).is_accurate()
    }

    /// With bursts no longer than the control allows.
    pub fn under(&self, cc: &Config) -> Self {
        let mut params = self.clone();
        if let (Some(segmentation), Some(within)) = (&mut params.segmentation, cc.burst()) {
            segmentation.within = segmentation.within.min(within);
            segmentation.least = 1;
            segmentation.rtt_term = false;
        }
        params
    }
}
