//! Runs that a Python program is attached to.

use std::sync::{Mutex, MutexGuard, PoisonError};

use narrows::attach::{Attached, Error, EventKind, MessageId, NewMessage, TimerId};
use narrows_proto::units::{Span, Time};
use narrows_sim::HostId;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{raise, raise_text};
use crate::results::Results;
use crate::scenario::Scenario;

/// A simulated network that a program sends messages through, in virtual time.
#[pyclass(module = "narrows")]
#[derive(Debug)]
pub(crate) struct Network {
    /// None when it has been finished.
    run: Mutex<Option<Attached>>,
}

/// Something that has happened to a message or a timer.
#[pyclass(module = "narrows", frozen, eq, get_all)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// "delivered", "sent", "failed" or "timer".
    kind: &'static str,
    /// When it happened.
    time_ps: u64,
    /// Number of the message or timer.
    id: u32,
    /// Tag that the message or timer was given.
    tag: u64,
}

#[pymethods]
impl Event {
    fn __repr__(&self) -> String {
        let Self { kind, time_ps, id, tag } = self;
        format!("Event(kind=\"{kind}\", time_ps={time_ps}, id={id}, tag={tag})")
    }
}

/// A message, as far as it has come.
#[pyclass(module = "narrows", frozen, get_all)]
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Name of the host that sends.
    src: String,
    /// Name of the host that receives.
    dst: String,
    /// Name of its traffic group.
    traffic: String,
    /// Payload.
    bytes: u64,
    /// Its tag.
    tag: u64,
    /// When it starts.
    start_ps: u64,
    /// When the last byte had arrived.
    delivered_ps: Option<u64>,
    /// When the source knew.
    sent_ps: Option<u64>,
    /// The sender has given up.
    failed: bool,
    /// Time from the start to the delivery.
    fct_ps: Option<u64>,
    /// The same alone on the empty network.
    ideal_ps: u64,
    /// Payload that the source knows to have arrived.
    acknowledged_bytes: u64,
    /// Segments retransmitted.
    retransmissions: u64,
    /// Expiries of the retransmission timer.
    timeouts: u64,
    /// Payload acknowledged as marked.
    marked_bytes: u64,
}

impl Network {
    fn lock(&self) -> MutexGuard<'_, Option<Attached>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the run, without Python's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Attached) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| self.lock().as_mut().map(work));
        done.ok_or_else(|| PyValueError::new_err("the network has been finished"))?.map_err(to_raise)
    }
}

fn to_raise(error: Error) -> PyErr {
    match error {
        Error::Scenario(rejection) => raise(&rejection),
        Error::HostNumber { .. } | Error::UnknownNumber { .. } => PyIndexError::new_err(error.to_string()),
        Error::Backward { .. } | Error::Over { .. } => PyValueError::new_err(error.to_string()),
        _ => raise_text(error.to_string()),
    }
}

/// A host by name or by number.
#[derive(FromPyObject)]
pub(crate) enum Host {
    Number(u64),
    Name(String),
}

impl Host {
    fn of(&self, run: &Attached) -> Result<HostId, Error> {
        match self {
            Self::Number(number) => run.host_number(*number),
            Self::Name(name) => run.host(name),
        }
    }
}

#[pymethods]
impl Network {
    #[new]
    #[pyo3(signature = (scenario, *, seed=None))]
    fn new(py: Python<'_>, scenario: &Bound<'_, PyAny>, seed: Option<u64>) -> PyResult<Self> {
        let scenario = py.import("narrows._run")?.call_method1("scenario_of", (scenario,))?;
        let scenario = scenario.extract::<PyRef<'_, Scenario>>()?;
        let document = scenario.document().clone();
        let run = py.detach(|| Attached::new(&document, seed)).map_err(to_raise)?;
        Ok(Self { run: Mutex::new(Some(run)) })
    }

    /// Names of the hosts, in the order of their numbers.
    #[getter]
    fn hosts(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |run| {
            let hosts = 0..run.host_count();
            Ok(hosts.map(|host| run.host_name(HostId::from(host)).to_owned()).collect())
        })
    }

    /// Now.
    #[getter]
    fn now_ps(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |run| Ok(run.now().as_ps()))
    }

    /// When the run ends: the scenario's `stop.after` and `stop.drain`.
    #[getter]
    fn end_ps(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |run| Ok(run.end().as_ps()))
    }

    /// Sends a message. Returns its number.
    #[pyo3(signature = (src, dst, bytes, *, traffic=None, tag=0, delay_ps=0))]
    #[expect(clippy::too_many_arguments, reason = "Python has them by name")]
    fn send(
        &self,
        py: Python<'_>,
        src: Host,
        dst: Host,
        bytes: u64,
        traffic: Option<String>,
        tag: u64,
        delay_ps: u64,
    ) -> PyResult<u32> {
        self.with(py, |run| {
            let class = match &traffic {
                Some(name) => run.class(name)?,
                None => run.class_number(0)?,
            };
            let (from, to, delay) = (src.of(run)?, dst.of(run)?, Span::from_ps(delay_ps));
            Ok(run.send(NewMessage { from, to, size: bytes, class, tag, delay })?.0)
        })
    }

    /// Sets a timer. Returns its number.
    #[pyo3(signature = (delay_ps, *, tag=0))]
    fn schedule(&self, py: Python<'_>, delay_ps: u64, tag: u64) -> PyResult<u32> {
        self.with(py, |run| Ok(run.schedule(Span::from_ps(delay_ps), tag)?.0))
    }

    /// Takes a timer back. False if it was due already, or has been taken back.
    fn cancel(&self, py: Python<'_>, timer: u32) -> PyResult<bool> {
        self.with(py, |run| run.cancel(TimerId(timer)))
    }

    /// Goes on to the next event, `until_ps` at the latest, and returns it.
    #[pyo3(signature = (until_ps=None))]
    fn next(&self, py: Python<'_>, until_ps: Option<u64>) -> PyResult<Option<Event>> {
        let found = self.with(py, |run| run.next(until_ps.map_or(Time::NEVER, Time::from_ps)))?;
        Ok(found.map(|found| {
            let (kind, id) = match found.kind {
                EventKind::Delivered(id) => ("delivered", id.0),
                EventKind::Sent(id) => ("sent", id.0),
                EventKind::Failed(id) => ("failed", id.0),
                EventKind::Timer(id) => ("timer", id.0),
            };
            Event { kind, time_ps: found.at.as_ps(), id, tag: found.tag }
        }))
    }

    /// Goes on to `until_ps`, or the end of the run. Events on the way wait for `next`.
    fn advance(&self, py: Python<'_>, until_ps: u64) -> PyResult<()> {
        self.with(py, |run| run.advance(Time::from_ps(until_ps)))
    }

    /// A message, as far as it has come.
    fn message(&self, py: Python<'_>, message: u32) -> PyResult<Message> {
        self.with(py, |run| {
            let (of, ideal) = (run.message(MessageId(message))?, run.ideal(MessageId(message))?);
            let name = |host| run.host_name(host).to_owned();
            Ok(Message {
                src: name(of.from),
                dst: name(of.to),
                traffic: run.plan().groups[of.class.index()].name.clone(),
                bytes: of.size.get(),
                tag: of.tag,
                start_ps: of.start.as_ps(),
                delivered_ps: of.delivered.map(Time::as_ps),
                sent_ps: of.sent.map(Time::as_ps),
                failed: of.failed,
                fct_ps: of.delivered.map(|at| (at - of.start).as_ps()),
                ideal_ps: ideal.as_ps(),
                acknowledged_bytes: of.acknowledged.get(),
                retransmissions: of.stats.retransmissions,
                timeouts: of.stats.timeouts,
                marked_bytes: of.stats.marked.get(),
            })
        })
    }

    /// Sums over the run so far, by name.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let of = self.with(py, |run| Ok(run.totals()))?;
        let totals = PyDict::new(py);
        for (name, sum) in [
            ("messages", of.messages),
            ("delivered", of.delivered),
            ("sent", of.sent),
            ("failed", of.failed),
            ("delivered_bytes", of.delivered_bytes),
            ("packet_hops", of.packet_hops),
        ] {
            totals.set_item(name, sum)?;
        }
        Ok(totals)
    }

    /// Ends the run now. Its results have a flow for each message.
    fn finish(&self, py: Python<'_>) -> PyResult<Results> {
        let run = py.detach(|| self.lock().take());
        let run = run.ok_or_else(|| PyValueError::new_err("the network has been finished"))?;
        Ok(Results::of(py.detach(|| run.finish()).map_err(to_raise)?))
    }
}
