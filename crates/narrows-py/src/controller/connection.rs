//! One connection under a class of Python.

use std::sync::Arc;

use narrows_proto::cc::custom::Settings;
use narrows_proto::cc::{self, Controller, Limit, Signal};
use narrows_proto::units::{Bytes, Span, Time};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::facts::{self, number_text};
use super::{Class, Failure, keywords};

/// Methods that receive something, in the order of [`Event`].
pub(super) const EVENTS: [&str; 8] =
    ["on_handshake", "on_idle", "on_ack", "on_congestion", "on_cnp", "on_sent", "on_telemetry", "on_timer"];

#[derive(Clone, Copy)]
enum Event {
    Handshake,
    Idle,
    Ack,
    Congestion,
    Cnp,
    Sent,
    Telemetry,
    Timer,
}

/// A controller whose methods are called when something happens, and whose limit is kept in between.
pub(super) struct Connection {
    class: Arc<Class>,
    failure: Arc<Failure>,
    /// None if it could not be made.
    object: Option<Object>,
    limit: Limit,
    timer: Time,
    /// The timer as `next_timer` gave it, in seconds: `on_timer` receives the very same number.
    asked: f64,
}

/// The bound methods of an instance.
struct Object {
    events: [Option<Py<PyAny>>; EVENTS.len()],
    limit: Py<PyAny>,
    next_timer: Option<Py<PyAny>>,
}

impl Connection {
    pub(super) fn new(
        class: Arc<Class>,
        failure: Arc<Failure>,
        settings: &Settings,
        path: &cc::Path,
    ) -> Self {
        let limit = Limit::window(path.initial_window);
        let mut connection =
            Self { class, failure, object: None, limit, timer: Time::NEVER, asked: f64::INFINITY };
        if !connection.failure.has_happened() {
            Python::attach(|py| {
                if let Err(error) = connection.begin(py, settings, path) {
                    connection.failure.note(error);
                }
            });
        }
        connection
    }

    fn begin(&mut self, py: Python<'_>, settings: &Settings, path: &cc::Path) -> PyResult<()> {
        let keywords = keywords(py, settings)?;
        let instance = self.class.class.bind(py).call((facts::Path(*path),), Some(&keywords))?;
        let method = |name: &str| instance.getattr(name).map(Bound::unbind);
        let mut events = [const { None }; EVENTS.len()];
        for (event, name) in events.iter_mut().zip(&self.class.receives) {
            *event = name.map(method).transpose()?;
        }
        let next_timer = self.class.has_timer.then(|| method("next_timer")).transpose()?;
        self.object = Some(Object { events, limit: method("limit")?, next_timer });
        self.ask(py)
    }

    /// Asks for limit and timer anew.
    fn ask(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(object) = &self.object else { return Ok(()) };
        let limit = object.limit.bind(py).call0()?;
        self.limit = facts::limit_of(&limit).map_err(|wrong| self.complain(py, "limit", &limit, wrong))?;
        if let Some(next_timer) = &object.next_timer {
            let timer = next_timer.bind(py).call0()?;
            (self.timer, self.asked) =
                facts::timer_of(&timer).map_err(|wrong| self.complain(py, "next_timer", &timer, wrong))?;
        }
        Ok(())
    }

    /// A method returned something of no use.
    fn complain(&self, py: Python<'_>, method: &str, found: &Bound<'_, PyAny>, wrong: facts::Wrong) -> PyErr {
        let class =
            self.class.class.bind(py).name().map_or_else(|_| self.class.name.clone(), |n| n.to_string());
        let found = number_text(found);
        match wrong {
            facts::Wrong::Type(expected) => {
                PyTypeError::new_err(format!("{class}.{method} returned {found}, expected {expected}"))
            }
            facts::Wrong::Value(expected) => {
                PyValueError::new_err(format!("{class}.{method} returned {found}, expected {expected}"))
            }
        }
    }

    /// Calls the method that receives `event`, if there is one.
    fn notify(
        &mut self,
        event: Event,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) {
        let is_received = self.object.as_ref().is_some_and(|object| object.events[event as usize].is_some());
        if !is_received || self.failure.has_happened() {
            return;
        }
        if let Err(error) = Python::attach(|py| self.call(py, event, arguments(py)?)) {
            self.failure.note(error);
        }
    }

    fn call(&mut self, py: Python<'_>, event: Event, arguments: Bound<'_, PyTuple>) -> PyResult<()> {
        if let Some(method) = self.object.as_ref().and_then(|object| object.events[event as usize].as_ref()) {
            method.bind(py).call1(arguments)?;
        }
        self.ask(py)
    }
}

/// Arguments of a method.
fn tuple<'py, const N: usize>(
    py: Python<'py>,
    values: [Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, values)
}

impl Controller for Connection {
    fn on_ack(&mut self, ack: &cc::Ack) {
        self.notify(Event::Ack, |py| PyTuple::new(py, [facts::Ack(*ack)]));
    }

    fn on_congestion(&mut self, now: Time, event: cc::Congestion) {
        self.notify(Event::Congestion, |py| {
            let event = facts::Congestion::new(now, event).into_bound_py_any(py)?;
            tuple(py, [now.as_secs_f64().into_bound_py_any(py)?, event])
        });
    }

    fn limit(&self) -> Limit {
        self.limit
    }

    fn on_idle(&mut self, now: Time, idle: Span, restart: Option<Bytes>) {
        self.notify(Event::Idle, |py| {
            let restart = restart.map(Bytes::get).into_bound_py_any(py)?;
            tuple(
                py,
                [
                    now.as_secs_f64().into_bound_py_any(py)?,
                    idle.as_secs_f64().into_bound_py_any(py)?,
                    restart,
                ],
            )
        });
    }

    /// Each signal has a method of its own in Python.
    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        let time = now.as_secs_f64();
        match *signal {
            Signal::Handshake { rtt } => {
                self.notify(Event::Handshake, |py| PyTuple::new(py, [time, rtt.as_secs_f64()]));
            }
            Signal::Cnp => self.notify(Event::Cnp, |py| PyTuple::new(py, [time])),
            Signal::Sent { size } => self.notify(Event::Sent, |py| {
                tuple(py, [time.into_bound_py_any(py)?, size.get().into_bound_py_any(py)?])
            }),
            Signal::Telemetry(telemetry) => self.notify(Event::Telemetry, |py| {
                let telemetry = facts::Telemetry(*telemetry).into_bound_py_any(py)?;
                tuple(py, [time.into_bound_py_any(py)?, telemetry])
            }),
            Signal::Timer => {
                let time = if now == self.timer { self.asked } else { time };
                self.notify(Event::Timer, |py| PyTuple::new(py, [time]));
            }
            _ => {}
        }
    }

    fn next_timer(&self) -> Time {
        self.timer
    }
}
