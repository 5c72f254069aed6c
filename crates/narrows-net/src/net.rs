//! The network of a scenario, with sockets at some of its hosts.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use narrows::addresses::{address_of, host_of};
use narrows::diagnostic::help_with;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::Steps;
use narrows_proto::units::Time;
use narrows_sim::{External, HostId};

use crate::datagram::Counters;
use crate::error::Error;
use crate::state::{Card, FRAMING, HEADERS, SMALLEST, State};

/// A network in virtual time. Clones are the same network.
#[derive(Clone, Debug)]
pub struct Net {
    plan: Arc<Plan>,
    /// Hosts with sockets.
    given: Arc<[HostId]>,
    /// The moment of a real clock that stands for the beginning.
    base: Instant,
    state: Arc<Mutex<Option<State>>>,
}

impl Net {
    /// The network of a scenario as text. Programs have sockets at the `given` hosts, all others are simulated.
    ///
    /// # Errors
    /// If the scenario has mistakes, or a given host is unknown, or simulated traffic begins or ends there.
    pub fn from_text(scenario: &str, given: &[&str]) -> Result<Self, Error> {
        let document = Document::parse("the scenario", scenario, "")?;
        Self::new(&Arc::new(Plan::new(document)?), given)
    }

    /// The same of a scenario in a file.
    ///
    /// # Errors
    /// As [`from_text`](Self::from_text).
    pub fn from_file(path: impl AsRef<Path>, given: &[&str]) -> Result<Self, Error> {
        Self::new(&Arc::new(Plan::new(Document::read(path.as_ref())?)?), given)
    }

    /// The same of a plan, for those who change scenarios before.
    ///
    /// # Errors
    /// If a given host is unknown, or simulated traffic begins or ends there.
    pub fn new(plan: &Arc<Plan>, given: &[&str]) -> Result<Self, Error> {
        let plan = Arc::clone(plan).drawn()?;
        let hosts = given.iter().map(|name| take(&plan, name)).collect::<Result<Vec<_>, _>>()?;
        let external = External { hosts: hosts.clone(), smallest_packet: SMALLEST, are_machines: false };
        let steps = Steps::with_external(&plan, &plan.traffic, &external, None);
        let rates = plan.network.topology.host_rates();
        let cards = hosts.iter().map(|host| (*host, Card::new(rates[host.index()]))).collect();
        let largest = plan.traffic.groups.iter().map(|group| group.largest_packet().get()).max();
        let most = largest.unwrap_or_default().saturating_sub(FRAMING + HEADERS) as usize;
        let state = State::new(steps, plan.stop.at, most, cards);
        let state = Arc::new(Mutex::new(Some(state)));
        Ok(Self { plan, given: hosts.into(), base: Instant::now(), state })
    }

    /// The address of a port of a host, as a name server would say.
    ///
    /// # Errors
    /// If the host is none of those that the network was given.
    pub fn address(&self, host: &str, port: u16) -> Result<SocketAddr, Error> {
        Ok(socket_address(self.given_host(host)?, port))
    }

    /// Now: everything up to this moment has happened.
    pub fn now(&self) -> Time {
        self.lock().as_ref().map_or(self.plan.stop.at, |state| state.now)
    }

    /// When the run ends: the scenario's `stop.after`, and `stop.drain`.
    pub fn end(&self) -> Time {
        self.plan.stop.at
    }

    /// The largest payload of a datagram.
    pub fn largest_payload(&self) -> usize {
        self.lock().as_ref().map_or(0, |state| state.most)
    }

    /// Advances to the next arrival at a host with sockets or the next [timer](Net::timer), and no further than `until`, or the
    /// [end](Self::end). True if something has happened, false if time is up.
    ///
    /// # Errors
    /// If `until` is over.
    pub fn advance(&self, until: Time) -> Result<bool, Error> {
        let (happened, woken) = self.with(|state| state.advance(until))?;
        woken.into_iter().for_each(std::task::Waker::wake);
        Ok(happened)
    }

    /// A moment of virtual time for programs that have [`Instant`]: a moment of the real clock at which the network was made, and the time
    /// since the beginning in nanoseconds.
    pub fn instant(&self, at: Time) -> Instant {
        self.base + Duration::from_nanos(at.as_ps() / 1000)
    }

    /// The moment of virtual time that an [`Instant`] stands for; the beginning, if it is before that.
    pub fn time(&self, instant: Instant) -> Time {
        let since = instant.saturating_duration_since(self.base).as_nanos();
        u64::try_from(since).ok().and_then(|ns| ns.checked_mul(1000)).map_or(Time::NEVER, Time::from_ps)
    }

    /// Datagrams of all sockets so far.
    pub fn counters(&self) -> Counters {
        self.lock().as_ref().map(State::counters).unwrap_or_default()
    }

    /// Ends the run now. Its results are those of any run: flows, ports, what the scenario records.
    ///
    /// # Errors
    /// If more was recorded than there is memory for, or the run has been ended before.
    pub fn finish(self) -> Result<Results, Error> {
        // Who still waits may have sockets, which need the lock.
        let state = self.lock().take();
        let State { steps, .. } = state.ok_or(Error::Ended { end: self.plan.stop.at })?;
        Ok(steps.finish()?)
    }

    /// # Errors
    /// If the run has been ended.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut State) -> Result<T, Error>) -> Result<T, Error> {
        match self.lock().as_mut() {
            Some(state) => work(state),
            None => Err(Error::Ended { end: self.plan.stop.at }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host with sockets that has an address.
    pub(crate) fn host_at(&self, to: SocketAddr) -> Option<HostId> {
        let SocketAddr::V4(to) = to else { return None };
        let host = host_of(to.ip().octets()).map(HostId)?;
        self.given.contains(&host).then_some(host)
    }

    pub(crate) fn given_host(&self, name: &str) -> Result<HostId, Error> {
        let topology = &self.plan.network.topology;
        if let Some(host) = self.given.iter().find(|host| topology.host_name(**host) == name) {
            return Ok(*host);
        }
        find(&self.plan, name)?;
        let given: Vec<_> = self.given.iter().map(|host| topology.host_name(*host)).collect();
        Err(Error::NotGiven { host: name.to_owned(), given: given.join(", ") })
    }
}

pub(crate) fn socket_address(host: HostId, port: u16) -> SocketAddr {
    (address_of(host.0), port).into()
}

fn find(plan: &Plan, name: &str) -> Result<HostId, Error> {
    let topology = &plan.network.topology;
    let names = || (0..topology.hosts().len() as u32).map(|host| topology.host_name(HostId(host)));
    if let Some(host) = names().position(|known| known == name) {
        return Ok(HostId(host as u32));
    }
    Err(Error::UnknownHost { host: name.to_owned(), help: help_with(name, names()) })
}

/// A host that is to have sockets.
fn take(plan: &Plan, name: &str) -> Result<HostId, Error> {
    let host = find(plan, name)?;
    if host_of(address_of(host.0).octets()) != Some(host.0) {
        return Err(Error::NoAddress { host: name.to_owned() });
    }
    match plan.traffic.flows.iter().find(|flow| flow.from == host || flow.to == host) {
        Some(flow) => {
            let group = plan.groups[flow.group.index()].name.clone();
            Err(Error::Simulated { host: name.to_owned(), group })
        }
        None => Ok(host),
    }
}
