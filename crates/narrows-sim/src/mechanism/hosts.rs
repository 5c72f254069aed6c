//! Hosts as they are: software takes a while, and no two network cards have the same clock.
//!
//! Flows of ideal hosts keep the phase in which they happen to meet. Of two whose packets reach a full queue always in the same order,
//! one is dropped or marked always, and their shares say nothing of their congestion control (Floyd & Jacobson, "On Traffic Phase
//! Effects in Packet-Switched Gateways", 1992, §4). A random delay of up to one packet's time is what they propose against it, and
//! what real hosts have anyway.
//!
//! ```text
//! processing   a network card that has had nothing to send begins a burst this much later; what follows goes back to back
//! pipeline     each packet takes so long through the card it leaves; the next one follows at once
//! clock_ppm    each card is slower than its nominal rate by a part between zero and this, drawn once
//! interrupts   what arrives is handed to the stack in batches: a time after the first, or after so many frames
//! software     messages about congestion that software reads are read this much later
//! start_jitter flows that are scheduled, and clients, begin later by a part of this, drawn once for each host
//! start_every  hosts that begin those at one moment do so one after the other: `start_delays.rs`
//! small_queues packets of TCP wait in a queue of the host: `small_queues.rs`
//! ```
//! All make a host later, never sooner: no flow beats its ideal time. Frames for the network card itself (PAUSE, flow control by
//! priority, isolation) wait for nothing, nor does what external hosts get.
//!
//! Left out: clocks of timers, drift.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{BitRate, Span, Time, WireTime};

use super::small_queues::SmallQueues;
use super::start_delays::StartEvery;
use crate::random::{Purpose, Stream};

/// Deviations of hosts from ideal machines.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hosts {
    /// None: what is to be done is done at once, and clocks are exact. For theory.
    #[default]
    Ideal,
    /// Hosts that take a while.
    Real(RealHosts),
}

/// Hosts that take a while.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RealHosts {
    /// Time from the moment at which there is something to send until the first packet leaves a network card that was idle, drawn for
    /// each burst.
    pub processing: Processing,
    /// Network cards are slower than the rate of their link by up to so many parts per million, each by a part of its own, all equally
    /// likely. IEEE 802.3 allows ±100 around a nominal rate that is 100 below the rate of the link then. At most 10 000.
    pub clock_ppm: u32,
    /// So much later than it is chosen each packet leaves a network card, acknowledgments included: the card takes it through its pipeline
    /// while others follow.
    pub pipeline: Span,
    /// Packets that arrive are handed over in batches (interrupt moderation); each at once if left out. That saves a processor work and
    /// lets receive offload merge more, for a longer round trip and acknowledgments in bursts.
    pub interrupts: Option<Interrupts>,
    /// Delay before software reads messages about congestion that it handles: QCN messages for near-source loops (Annulus, whose
    /// loop runs in software), and congestion notification packets. They pass through a driver and often a process of their own.
    /// Reaction points of QCN and BCN stand in the network card and do not wait. With 0 s only interrupts delay them.
    pub software_delay: Span,
    /// Applications of one host begin later than the scenario says by up to so much, drawn once for each host: what starts at one moment
    /// on several hosts does not start at exactly one. Completion times count from when a flow was to start. Flows that answer or wait
    /// for others follow those. Without it only `processing` keeps starts apart, by up to the time of one packet.
    pub start_jitter: Option<Span>,
    /// Hosts that begin something by themselves at the same moment do so one after the other, each so much later than the one before, in an
    /// order drawn for each moment: one processor that runs all hosts does one thing after the other. Of several times one is
    /// drawn for each host. `start_jitter` comes on top.
    pub start_every: Option<StartEvery>,
    /// Flows hand bursts over to a queue of their host, up to a few of each flow, as TCP of a kernel does (TCP small queues): those that their
    /// own link limits wait there, and acknowledgments behind them. Without it the network card asks a flow for a packet when its
    /// link is free.
    pub small_queues: Option<SmallQueues>,
}

/// When what has arrived is handed over.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Interrupts {
    /// So long after the first packet that has not been handed over (`rx-usecs` of ethtool).
    pub after: Span,
    /// As soon as so many have arrived (`rx-frames` of ethtool); however many there are if left out.
    #[serde(default)]
    pub frames: Option<u32>,
}

impl RealHosts {
    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self {
            processing,
            clock_ppm: ppm,
            pipeline,
            interrupts,
            software_delay,
            start_jitter,
            start_every,
            small_queues,
        } = self;
        if let Processing::Exponential(Exponential { mean, up_to }) = *processing {
            let (in_range, setting) =
                ((Span::from_ps(1)..=up_to).contains(&mean), "processing.exponential.mean");
            ranges.unless(in_range, setting, mean, "more than 0 s and at most up_to")?;
        }
        ranges.unless(*ppm <= 10_000, "clock_ppm", ppm, "at most 10 000")?;
        let Interrupts { after, frames } = interrupts.unwrap_or_default();
        ranges.unless(after <= Span::from_ms(100), "interrupts.after", after, "at most 100 ms")?;
        let frames = frames.unwrap_or(1);
        ranges.unless(frames > 0, "interrupts.frames", frames, "at least 1")?;
        let most = Span::from_secs(1);
        ranges.unless(*pipeline <= most, "pipeline", pipeline, "at most 1 s")?;
        ranges.unless(*software_delay <= most, "software_delay", software_delay, "at most 1 s")?;
        let jitter = start_jitter.unwrap_or_default();
        ranges.unless(jitter <= most, "start_jitter", jitter, "at most 1 s")?;
        start_every.as_ref().map_or(Ok(()), |every| every.check(most, ranges))?;
        small_queues.map_or(Ok(()), |queues| queues.check(ranges))
    }
}

impl Default for RealHosts {
    fn default() -> Self {
        Self {
            processing: Processing::default(),
            clock_ppm: 200,
            pipeline: Span::ZERO,
            interrupts: None,
            software_delay: Span::ZERO,
            start_jitter: None,
            start_every: None,
            small_queues: None,
        }
    }
}

/// Distribution of the time to process a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Processing {
    /// It takes no time.
    None,
    /// Always the same.
    Constant(Span),
    /// All times up to a bound are equally likely.
    Uniform(Bounded),
    /// Exponentially distributed, cut off at a bound.
    Exponential(Exponential),
}

impl Default for Processing {
    fn default() -> Self {
        Self::Uniform(Bounded { up_to: None })
    }
}

/// Times up to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bounded {
    /// The bound; the time that the largest packet of the traffic takes on the link of the host if left out (Floyd & Jacobson §4).
    #[serde(default)]
    pub up_to: Option<Span>,
}

/// Exponentially distributed times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exponential {
    /// The mean, before times above the bound are drawn again as the bound.
    pub mean: Span,
    /// The bound.
    pub up_to: Span,
}

impl Processing {
    /// The longest time on a link on which the largest packet takes `packet`.
    pub fn most(self, packet: Span) -> Span {
        match self {
            Self::None => Span::ZERO,
            Self::Constant(span) => span,
            Self::Uniform(Bounded { up_to }) => up_to.unwrap_or(packet),
            Self::Exponential(Exponential { up_to, .. }) => up_to,
        }
    }
}

impl Hosts {
    /// Time that each packet takes through the network card that it leaves.
    pub(crate) fn pipeline(&self) -> Span {
        if let Self::Real(real) = self { real.pipeline } else { Span::ZERO }
    }

    /// Delays of applications.
    pub(crate) fn starts(&self) -> (Option<Span>, Option<&StartEvery>) {
        match self {
            Self::Ideal => (None, None),
            Self::Real(RealHosts { start_jitter, start_every, .. }) => (*start_jitter, start_every.as_ref()),
        }
    }

    /// Queues in front of network cards, if there are some.
    pub(crate) fn small_queues(&self) -> Option<SmallQueues> {
        if let Self::Real(real) = self { real.small_queues } else { None }
    }
}

/// The clock of the network card of host number `host`, and what it takes to begin a burst; none if that is no time.
pub(crate) fn of_host(
    hosts: &Hosts,
    seed: u64,
    host: u64,
    rate: BitRate,
    largest_packet: u16,
) -> (WireTime, Option<BurstDelay>) {
    let Hosts::Real(RealHosts { processing, clock_ppm, .. }) = hosts else { return (rate.wire_time(), None) };
    let mut random = Stream::new(seed, Purpose::Host, host);
    let slower = random.uniform() * f64::from(*clock_ppm) * 1e-6;
    let wire_time = rate.scaled(1.0 - slower).max(WireTime::MIN_RATE).wire_time();
    let packet = wire_time.of(largest_packet);
    let is_none = processing.most(packet) == Span::ZERO;
    let delay = (!is_none).then_some(BurstDelay { processing: *processing, packet, random });
    (wire_time, delay)
}

/// Delay with which a host notices what has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lateness {
    pub(crate) interrupts: Option<Interrupts>,
    pub(crate) software_delay: Span,
}

/// Delay with which hosts notice what has arrived; none if they do at once.
pub(crate) fn lateness(hosts: &Hosts) -> Option<Lateness> {
    let Hosts::Real(RealHosts { interrupts, software_delay, .. }) = *hosts else { return None };
    let late = interrupts.is_some() || software_delay > Span::ZERO;
    late.then_some(Lateness { interrupts, software_delay })
}

/// Time that a host takes to begin a burst.
#[derive(Clone, Debug)]
pub(crate) struct BurstDelay {
    processing: Processing,
    /// Time of the largest packet on the link of the host.
    packet: Span,
    random: Stream,
}

impl BurstDelay {
    /// When a burst leaves for which there is a reason now.
    pub(crate) fn begin(&mut self, now: Time) -> Time {
        let most = self.processing.most(self.packet);
        now + match self.processing {
            Processing::None | Processing::Constant(_) => most,
            Processing::Uniform(_) => Span::from_ps(self.random.below(most.as_ps().saturating_add(1))),
            Processing::Exponential(Exponential { mean, .. }) => self.random.exponential(mean).min(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u16 = 1250;

    fn of(hosts: &Hosts, host: u64) -> (WireTime, Option<BurstDelay>) {
        of_host(hosts, 1, host, BitRate::from_gbps(10), PACKET)
    }

    #[test]
    fn ideal_hosts_have_exact_clocks_and_begin_at_once() {
        let (wire_time, delay) = of(&Hosts::Ideal, 0);
        assert_eq!(wire_time.of(PACKET), Span::from_us(1));
        assert!(delay.is_none());
    }

    #[test]
    fn clocks_of_real_hosts_are_slower_by_up_to_what_is_set_and_differ() {
        let hosts = Hosts::Real(RealHosts { clock_ppm: 200, ..RealHosts::default() });
        let times: Vec<_> = (0..100).map(|host| of(&hosts, host).0.of(62_500).as_ps()).collect();
        // 62 500 B take 50 us, 200 ppm of which are 10 ns.
        assert!(times.iter().all(|time| (50_000_000..=50_010_003).contains(time)), "{times:?}");
        let mean = times.iter().sum::<u64>() as f64 / 100.0 - 50_000_000.0;
        // A mean of 100 uniform draws: 5000 ± 5 · 10 000/√(12 · 100).
        assert!((mean - 5000.0).abs() < 1450.0, "{mean}");
    }

    #[test]
    fn bursts_of_real_hosts_begin_within_the_time_of_a_packet() {
        let mut delay =
            of(&Hosts::Real(RealHosts { clock_ppm: 0, ..RealHosts::default() }), 0).1.expect("some");
        let draws: Vec<_> = (0..1000).map(|_| delay.begin(Time::ZERO).saturating_since(Time::ZERO)).collect();
        assert!(draws.iter().all(|draw| *draw <= Span::from_us(1)));
        let mean = draws.iter().copied().sum::<Span>().as_secs_f64() / 1000.0;
        // 0.5 us ± 5 · 1 us/√(12 · 1000).
        assert!((mean - 0.5e-6).abs() < 0.046e-6, "{mean}");
    }

    #[test]
    fn an_exponential_time_never_exceeds_its_bound() {
        let processing =
            Processing::Exponential(Exponential { mean: Span::from_us(5), up_to: Span::from_us(10) });
        let mut delay = of(&Hosts::Real(RealHosts { processing, clock_ppm: 0, ..RealHosts::default() }), 3)
            .1
            .expect("some");
        let draws: Vec<_> = (0..1000).map(|_| delay.begin(Time::ZERO).saturating_since(Time::ZERO)).collect();
        assert_eq!(draws.iter().max(), Some(&Span::from_us(10)));
    }

    #[test]
    fn processing_that_takes_no_time_is_off() {
        for processing in [Processing::None, Processing::Constant(Span::ZERO)] {
            assert!(
                of(&Hosts::Real(RealHosts { processing, clock_ppm: 0, ..RealHosts::default() }), 0)
                    .1
                    .is_none()
            );
        }
    }

    #[test]
    fn hosts_notice_at_once_unless_told_otherwise() {
        assert_eq!(lateness(&Hosts::Ideal), None);
        assert_eq!(lateness(&Hosts::Real(RealHosts::default())), None);
        let software_delay = Span::from_us(5);
        let late = lateness(&Hosts::Real(RealHosts { software_delay, ..RealHosts::default() }));
        assert_eq!(late, Some(Lateness { interrupts: None, software_delay }));
    }

    #[test]
    fn settings_out_of_their_range_are_refused() {
        let of = |after, frames| RealHosts {
            interrupts: Some(Interrupts { after, frames }),
            ..RealHosts::default()
        };
        let check = |hosts: RealHosts| hosts.check(&mut Ranges::default()).map_err(|error| error.setting);
        assert_eq!(check(RealHosts::default()), Ok(()));
        assert_eq!(check(of(Span::from_us(20), Some(64))), Ok(()));
        assert_eq!(check(of(Span::from_us(20), Some(0))), Err("interrupts.frames"));
        assert_eq!(check(of(Span::from_secs(1), None)), Err("interrupts.after"));
        let slow = RealHosts { software_delay: Span::from_secs(2), ..RealHosts::default() };
        assert_eq!(check(slow), Err("software_delay"));
        let apart = RealHosts { start_jitter: Some(Span::from_secs(2)), ..RealHosts::default() };
        assert_eq!(check(apart), Err("start_jitter"));
        for wrong in [StartEvery::Constant(Span::from_secs(2)), StartEvery::OneOf(Vec::new())] {
            let apart = RealHosts { start_every: Some(wrong), ..RealHosts::default() };
            assert_eq!(check(apart), Err("start_every"));
        }
        assert_eq!(check(RealHosts { clock_ppm: 10_001, ..RealHosts::default() }), Err("clock_ppm"));
    }
}
