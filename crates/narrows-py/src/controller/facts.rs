//! Facts that controllers of Python receive, and their answers.
//!
//! Times are seconds as floats. Where exactness matters there is a name with `_ps`, whole picoseconds. Sizes are bytes of payload,
//! rates bit/s.

use narrows_proto::cc;
use narrows_proto::telemetry;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};

/// Facts of a connection that its controller receives before the first packet.
#[pyclass(module = "narrows", frozen)]
pub(crate) struct Path(pub(super) cc::Path);

#[pymethods]
impl Path {
    /// Payload of a full segment, in bytes.
    #[getter]
    fn mss(&self) -> u64 {
        self.0.mss.get()
    }

    /// Window before the first acknowledgment, in bytes.
    #[getter]
    fn initial_window(&self) -> u64 {
        self.0.initial_window.get()
    }

    /// A full segment on the wire, headers and framing included, in bytes.
    #[getter]
    fn packet(&self) -> u64 {
        self.0.packet.get()
    }

    /// Rate of the sender's own link, in bit/s.
    #[getter]
    fn link(&self) -> u64 {
        self.0.link.as_bps()
    }

    /// Where random choices begin, another for every connection: `random.Random(path.seed)`.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    fn __repr__(&self) -> String {
        let cc::Path { mss, initial_window, packet, link, seed, .. } = self.0;
        let [mss, window, packet] = [mss, initial_window, packet].map(Bytes::get);
        format!(
            "Path(mss={mss}, initial_window={window}, packet={packet}, link={}, seed={seed})",
            link.as_bps()
        )
    }
}

/// One acknowledgment, digested.
#[pyclass(module = "narrows", frozen)]
pub(crate) struct Ack(pub(super) cc::Ack);

#[pymethods]
impl Ack {
    /// When it arrived, in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// The same in whole picoseconds.
    #[getter]
    fn now_ps(&self) -> u64 {
        self.0.now.as_ps()
    }

    /// Round-trip time in seconds of the segment sent last among those acknowledged here; None if it had been sent twice.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Span::as_secs_f64)
    }

    /// The same in whole picoseconds.
    #[getter]
    fn rtt_ps(&self) -> Option<u64> {
        self.0.rtt.map(Span::as_ps)
    }

    /// Smoothed round-trip time in seconds, including this sample.
    #[getter]
    fn srtt(&self) -> f64 {
        self.0.srtt.as_secs_f64()
    }

    /// The same in whole picoseconds.
    #[getter]
    fn srtt_ps(&self) -> u64 {
        self.0.srtt.as_ps()
    }

    /// Payload known for the first time to have arrived, in or out of order.
    #[getter]
    fn acked(&self) -> u64 {
        self.0.acked.get()
    }

    /// The part of `acked` that was reported as marked.
    #[getter]
    fn marked(&self) -> u64 {
        self.0.marked.get()
    }

    /// Payload still on its way after this acknowledgment.
    #[getter]
    fn inflight(&self) -> u64 {
        self.0.inflight.get()
    }

    /// Payload that was on its way before it.
    #[getter]
    fn inflight_before(&self) -> u64 {
        self.0.inflight_before.get()
    }

    /// Payload sent since the connection began, repetitions included.
    #[getter]
    fn sent(&self) -> u64 {
        self.0.sent.get()
    }

    /// Payload delivered since the connection began, including `acked`.
    #[getter]
    fn delivered(&self) -> u64 {
        self.0.delivered.get()
    }

    /// Payload given up as lost since the connection began, needlessly or not.
    #[getter]
    fn lost(&self) -> u64 {
        self.0.lost.get()
    }

    /// Rate at which data arrived while the segment was on its way, in bit/s; None without a sample.
    #[getter]
    fn delivery_rate(&self) -> Option<u64> {
        self.0.delivery.rate().map(BitRate::as_bps)
    }

    /// The sender had nothing more to send at some time of that flight, so the path may be faster than `delivery_rate`.
    #[getter]
    fn app_limited(&self) -> bool {
        self.0.delivery.app_limited
    }

    /// The first acknowledgment of data sent after the previous one with `round_start`: a round trip has passed.
    #[getter]
    fn round_start(&self) -> bool {
        self.0.round_start
    }

    /// The window stopped the sender in this round or the one before. If not, it did not matter and should not grow.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.0.cwnd_limited
    }

    /// A lost segment is being repaired, or this echoes a mark: the window should not grow.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.0.in_recovery
    }

    fn __repr__(&self) -> String {
        let Self(ack) = self;
        let rtt = ack.rtt.map_or_else(|| "none".to_owned(), |rtt| rtt.to_string());
        let [acked, marked, inflight] = [ack.acked, ack.marked, ack.inflight];
        let flags = [
            (ack.round_start, ", round_start"),
            (ack.cwnd_limited, ", cwnd_limited"),
            (ack.in_recovery, ", in_recovery"),
        ];
        let flags: String = flags.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
        format!("<Ack at {}: acked {acked}, marked {marked}, inflight {inflight}, rtt {rtt}{flags}>", ack.now)
    }
}

/// A sign of congestion.
#[pyclass(module = "narrows", frozen, get_all)]
pub(crate) struct Congestion {
    /// "loss", once per recovery; "mark", once per round and only with ecn = "classic"; "timeout"; or "spurious", when the last loss
    /// or timeout was none.
    kind: &'static str,
    /// Payload sent and not acknowledged cumulatively, just before; 0 if spurious.
    flight_size: u64,
    /// The timer had expired for the same segment before.
    repeated: bool,
    /// When, in whole picoseconds.
    now_ps: u64,
}

impl Congestion {
    pub(super) fn new(now: Time, event: cc::Congestion) -> Self {
        use cc::Congestion as C;
        let (kind, flight_size, repeated) = match event {
            C::Loss { flight_size } => ("loss", flight_size, false),
            C::Mark { flight_size } => ("mark", flight_size, false),
            C::Timeout { flight_size, repeated } => ("timeout", flight_size, repeated),
            C::Spurious => ("spurious", Bytes::ZERO, false),
        };
        Self { kind, flight_size: flight_size.get(), repeated, now_ps: now.as_ps() }
    }
}

#[pymethods]
impl Congestion {
    fn __repr__(&self) -> String {
        let repeated = if self.repeated { ", repeated" } else { "" };
        format!("<Congestion {}: {} B in flight{repeated}>", self.kind, self.flight_size)
    }
}

/// Records of switches in the packet that the next acknowledgment answers.
#[pyclass(module = "narrows", frozen)]
pub(crate) struct Telemetry(pub(super) telemetry::Telemetry);

#[pymethods]
impl Telemetry {
    /// The same for packets that took the same way.
    #[getter]
    fn path(&self) -> u16 {
        self.0.path
    }

    /// One record for each switch that writes, in order; five at the most.
    #[getter]
    fn hops(&self) -> Vec<Hop> {
        self.0.hops().iter().copied().map(Hop).collect()
    }

    fn __repr__(&self) -> String {
        format!("<Telemetry of path {}: {} hops>", self.0.path, self.0.hops().len())
    }
}

/// Record of one switch.
#[pyclass(module = "narrows", frozen)]
pub(crate) struct Hop(telemetry::Hop);

#[pymethods]
impl Hop {
    /// Rate of the link the packet left on, in bit/s.
    #[getter]
    fn rate(&self) -> u64 {
        self.0.rate.as_bps()
    }

    /// Backlog of its queue, in bytes, to 80 B below.
    #[getter]
    fn queue(&self) -> u64 {
        self.0.queue().get()
    }

    /// Seconds since an earlier record of the same port, to the nanosecond; None if it is not earlier, or by more than 8.4 ms.
    fn time_since(&self, earlier: &Self) -> Option<f64> {
        self.0.ns_since(&earlier.0).map(|ns| f64::from(ns) / 1e9)
    }

    /// Bytes the port has sent since an earlier record of it, to about 128 B.
    fn sent_since(&self, earlier: &Self) -> u64 {
        self.0.sent_since(&earlier.0).get()
    }

    fn __repr__(&self) -> String {
        format!("<Hop of {}: {} wait>", self.0.rate, self.0.queue())
    }
}

/// Limits of a connection.
#[pyclass(module = "narrows", frozen, eq)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Limit(cc::Limit);

#[pymethods]
impl Limit {
    /// A window in bytes of payload, and how fast packets may leave in bit/s, headers included; as fast as the window allows if left
    /// out. Fractions are rounded down.
    #[new]
    #[pyo3(signature = (cwnd, pacing=None))]
    fn new(cwnd: &Bound<'_, PyAny>, pacing: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let cwnd = number_of(cwnd, WINDOW).map_err(|wrong| wrong.raise("cwnd", cwnd))?;
        let pacing =
            pacing.map(|pacing| number_of(pacing, RATE).map_err(|wrong| wrong.raise("pacing", pacing)));
        let pacing = pacing.transpose()?.map(BitRate::from_bps);
        Ok(Self(cc::Limit { cwnd: Bytes::new(cwnd), pacing }))
    }

    /// Payload that may be on its way, in bytes.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd.get()
    }

    /// Rate at which packets may leave, in bit/s; None if only the window limits.
    #[getter]
    fn pacing(&self) -> Option<u64> {
        self.0.pacing.map(BitRate::as_bps)
    }

    fn __repr__(&self) -> String {
        let pacing = self.pacing().map(|rate| format!(", pacing={rate}")).unwrap_or_default();
        format!("Limit(cwnd={}{pacing})", self.cwnd())
    }
}

/// Why an answer is of no use: what was expected.
pub(super) enum Wrong {
    Type(&'static str),
    Value(&'static str),
}

impl Wrong {
    /// As an exception about the argument `name`.
    fn raise(self, name: &str, found: &Bound<'_, PyAny>) -> PyErr {
        let found = number_text(found);
        match self {
            Self::Type(expected) => PyTypeError::new_err(format!("{name} is {found}, expected {expected}")),
            Self::Value(expected) => PyValueError::new_err(format!("{name} is {found}, expected {expected}")),
        }
    }
}

const WINDOW: &str = "a number of bytes that is not negative";
const RATE: &str = "a rate in bit/s that is not negative";
const LIMIT: &str = "a Limit, or a number of bytes that is not negative";
const TIMER: &str = "a time in seconds, or None";

/// A value as messages have it: `'abc' (str)`, `nan`.
pub(super) fn number_text(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    let text: String = text.chars().take(60).collect();
    match value.extract::<f64>() {
        Ok(_) => text,
        Err(_) if value.is_none() => text,
        Err(_) => value.get_type().name().map_or(text.clone(), |kind| format!("{text} ({kind})")),
    }
}

/// A number that is not negative, rounded down; the largest there is for all that are larger.
fn number_of(value: &Bound<'_, PyAny>, expected: &'static str) -> Result<u64, Wrong> {
    if value.is_instance_of::<PyInt>()
        && let Ok(whole) = value.extract::<u64>()
    {
        return Ok(whole);
    }
    if value.is_instance_of::<PyString>() {
        return Err(Wrong::Type(expected));
    }
    match value.extract::<f64>() {
        Ok(number) if number >= 0.0 => Ok(number as u64),
        Ok(_) => Err(Wrong::Value(expected)),
        // An integer that is too large for a float.
        Err(_) if value.is_instance_of::<PyInt>() => match value.gt(0) {
            Ok(true) => Ok(u64::MAX),
            _ => Err(Wrong::Value(expected)),
        },
        Err(_) => Err(Wrong::Type(expected)),
    }
}

/// The limit that `limit` returned.
pub(super) fn limit_of(value: &Bound<'_, PyAny>) -> Result<cc::Limit, Wrong> {
    match value.cast::<Limit>() {
        Ok(limit) => Ok(limit.get().0),
        Err(_) => number_of(value, LIMIT).map(|cwnd| cc::Limit::window(Bytes::new(cwnd))),
    }
}

/// The time that `next_timer` returned, and the same in seconds; past times are for whoever keeps time to judge.
pub(super) fn timer_of(value: &Bound<'_, PyAny>) -> Result<(Time, f64), Wrong> {
    if value.is_none() {
        return Ok((Time::NEVER, f64::INFINITY));
    }
    match value.extract::<f64>() {
        Ok(at) if at.is_nan() => Err(Wrong::Value(TIMER)),
        // To the nearest picosecond: seconds as floats are that exact for the first quarter of an hour.
        Ok(at) => Ok((Time::from_ps((at * 1e12).round() as u64), at)),
        Err(_) => Err(Wrong::Type(TIMER)),
    }
}
