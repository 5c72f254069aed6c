//! Patterns checked, one by one, and their flows drawn.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use narrows_proto::units::{Span, Time};
use narrows_sim::FlowId;
use narrows_sim::traffic::{Dependent, FlowSpec, Generator, GeneratorKind, Milestone};
use narrows_sim::workload::{self, Stagger};

use super::load::{AskedLoad, Sent, on, reversed};
use super::pairing::{Asked, asked};
use super::{Builder, PlannedTraffic};
use crate::diagnostic::{Code, Diagnostic};
use crate::inputs::Content;
use crate::plan::trace::{self, TraceFlows};
use crate::plan::{Checker, ENDLESS, Expected, LoadOf};
use crate::scenario::{Pattern, Poisson};

impl Builder<'_> {
    pub(super) fn poisson(
        &mut self,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let Pattern::Poisson(pattern) = &self.group.pattern else { return None };
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("poisson", pattern.between, names, checker);
        let sizes = self.sizes("poisson.sizes", &pattern.sizes, checker);
        let Poisson { load, counts, utilization, .. } = *pattern;
        let asked = AskedLoad { key: "poisson", load, counts, utilization };
        let (load, counts) = self.asked_load(&asked, checker)?;
        let (pairs, sizes) = (pairs?, sizes?);
        let links = self.links_of("poisson.of", &pattern.of, pairs.from(), checker)?;
        let forth = self.crossings(&pairs, |pair| pair);
        let back = match counts {
            LoadOf::Utilization => on(&links, &self.crossings(&pairs, reversed)),
            LoadOf::Wire | LoadOf::Payload => 0.0,
        };
        let sent = Sent::by(&sizes.sizes, &planned.traffic.groups[self.id.index()].transport);
        let bytes = sent.counted(counts, on(&links, &forth), back);
        let per_second = self.flows_for("poisson", load, &links, bytes, checker)?;
        self.room_for(self.expected(per_second) as u64, "poisson", checker)?;
        for (offered, crossed) in planned.offered.iter_mut().zip(&forth) {
            *offered += per_second * sent.data * crossed;
        }
        self.planned.load = Some(self.offered_load(load, counts, &links, per_second));
        let time = self.start..self.until;
        let expected = Expected { flows: self.expected(per_second), per_arrival: 1, is_random: true };
        let most = usize::try_from(self.ground.most).unwrap_or(usize::MAX);
        let mut flows = workload::poisson(self.id, per_second, &sizes.sizes, &pairs, time, &mut self.random);
        let drawn = flows.by_ref().take(most).collect();
        self.planned.expected = flows.next().map(|_| expected);
        Some(drawn)
    }

    pub(super) fn random(&mut self, checker: &mut Checker<'_>) -> Option<Vec<FlowSpec>> {
        let Pattern::Random(pattern) = &self.group.pattern else { return None };
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("random", pattern.between, names, checker);
        let flows = self.at_least_one("random.flows", pattern.flows, checker);
        let sizes = self.sizes("random.sizes", &pattern.sizes, checker);
        let (pairs, flows, sizes) = (pairs?, flows?, sizes?);
        self.room_for(flows.into(), "random.flows", checker)?;
        let (start, random) = (self.start, &mut self.random);
        let flows = workload::random(self.id, flows, &sizes.sizes, &pairs, start, pattern.within, random);
        Some(flows.into_iter().filter(|flow| flow.start < self.until).collect())
    }

    pub(super) fn long_lived(&mut self, checker: &mut Checker<'_>) -> Option<Vec<FlowSpec>> {
        let Pattern::LongLived(pattern) = &self.group.pattern else { return None };
        let partners = self.partners(&asked!("long_lived", pattern), checker);
        let flows = self.one_for_each_pair("long_lived.flows", pattern.flows, partners.as_ref(), checker);
        let size = self.size("long_lived.size", pattern.size.unwrap_or(ENDLESS), checker);
        let stagger = self.stagger(pattern.spread, pattern.start_every, checker);
        let (partners, flows, size, stagger) = (partners?, flows?, size?, stagger?);
        self.room_for(flows.into(), "long_lived.flows", checker)?;
        let (start, random) = (self.start, &mut self.random);
        let flows = workload::long_lived(self.id, flows, size, &partners, start, stagger, random);
        Some(flows.into_iter().filter(|flow| flow.start < self.until).collect())
    }

    pub(super) fn incast(&mut self, checker: &mut Checker<'_>) -> Option<Vec<FlowSpec>> {
        let Pattern::Incast(pattern) = &self.group.pattern else { return None };
        let from = self.hosts("incast.from", pattern.from.as_ref(), checker);
        let to = self.hosts("incast.to", pattern.to.as_ref(), checker);
        let fan_in = self.at_least_one("incast.fan_in", pattern.fan_in, checker);
        let times = self.at_least_one("incast.times", pattern.times, checker);
        let size = self.size("incast.size", pattern.size, checker);
        let (from, to, fan_in, times, size) = (from?, to?, fan_in?, times?, size?);
        let others = to.iter().map(|to| from.len() - usize::from(from.binary_search(to).is_ok()));
        let others = others.min().unwrap_or(0);
        if others < fan_in as usize {
            let message = format!("fan_in = {fan_in}, but only {others} hosts can send at once");
            self.error("incast.fan_in", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        let (start, period) = (self.start, pattern.period);
        // Only what starts in time.
        let fit = self.until.saturating_since(start).as_ps().div_ceil(period.as_ps().max(1));
        let times =
            if period == Span::ZERO { times } else { times.min(u32::try_from(fit).unwrap_or(u32::MAX)) };
        self.room_for(u64::from(fan_in) * u64::from(times), "incast", checker)?;
        let (draws, most) = (u64::from(times).saturating_mul(from.len() as u64), checker.limits.draws);
        if draws > most {
            let message = format!(
                "{times} times senders from {} hosts, together {draws}, at most {most} can be drawn",
                from.len()
            );
            self.error("incast", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        let at_once = u64::from(fan_in).max(from.len() as u64);
        let drawn = u32::try_from((self.ground.most / at_once).max(1)).unwrap_or(u32::MAX).min(times);
        if drawn < times {
            let flows = f64::from(fan_in) * f64::from(times);
            self.planned.expected = Some(Expected { flows, per_arrival: fan_in, is_random: false });
        }
        let random = &mut self.random;
        let flows = workload::incast(self.id, &from, &to, fan_in, size, start, period, drawn, random);
        Some(flows.into_iter().filter(|flow| flow.start < self.until).collect())
    }

    pub(super) fn on_off(
        &mut self,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let Pattern::OnOff(pattern) = &self.group.pattern else { return None };
        let partners = self.partners(&asked!("on_off", pattern), checker);
        let sources = self.one_for_each_pair("on_off.sources", pattern.sources, partners.as_ref(), checker);
        if !narrows_sim::is_link_rate(pattern.rate) {
            let message = format!("rate = {}, expected 1 kb/s to 100 Tb/s", pattern.rate);
            self.error("on_off.rate", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        // Each burst begins with a datagram, so shorter ones would send more than `rate`.
        let datagram = self.group.datagram.clone().unwrap_or_default();
        let (on, shortest) = (pattern.on.mean(), pattern.rate.time_to_send(datagram.packet_size()));
        if on < shortest {
            let message =
                format!("on = {on}, expected at least {shortest}, the time of one datagram at this rate");
            self.error("on_off.on", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        let (partners, sources) = (partners?, sources?);
        let stagger = Stagger::Every(pattern.start_every.unwrap_or_default());
        self.room_for(sources.into(), "on_off.sources", checker)?;
        let first = planned.traffic.flows.len();
        let mut flows = workload::long_lived(
            self.id,
            sources,
            ENDLESS,
            &partners,
            Time::NEVER,
            stagger,
            &mut self.random,
        );
        let (on, off) = (pattern.on.mean().as_secs_f64(), pattern.off.mean().as_secs_f64());
        let rate = pattern.rate.as_f64() / 8.0 * on / (on + off);
        let demands = flows.iter().map(|flow| (flow.from, flow.to, rate));
        for (offered, more) in planned.offered.iter_mut().zip(self.ground.paths.spread(demands)) {
            *offered += more;
        }
        for (number, flow) in flows.iter_mut().enumerate() {
            flow.start = Time::NEVER;
            let (on, off) = (pattern.on, pattern.off);
            let kind = GeneratorKind::OnOff { flow: FlowId::from(first + number), on, off };
            let start = self.start + stagger.after(number as u64, sources);
            planned.traffic.generators.push(Generator { kind, start, until: self.until });
        }
        Some(flows)
    }

    pub(super) fn closed_loop(
        &mut self,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let Pattern::ClosedLoop(pattern) = &self.group.pattern else { return None };
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("closed_loop", pattern.between, names, checker);
        let sizes = self.sizes("closed_loop.sizes", &pattern.sizes, checker);
        let clients = self.at_least_one("closed_loop.clients", pattern.clients, checker);
        let parallel = self.at_least_one("closed_loop.parallel", pattern.parallel, checker);
        let (pairs, sizes, clients, parallel) = (pairs?, Arc::new(sizes?.sizes), clients?, parallel?);
        let partners: u64 = pairs.from().iter().map(|from| pairs.partners(*from) as u64).sum();
        let each = u64::from(clients).saturating_mul(parallel.into());
        self.room_for(partners.saturating_mul(each), "closed_loop", checker)?;
        let mut flows = Vec::new();
        for from in pairs.from() {
            for _ in 0..clients {
                let first = planned.traffic.flows.len() + flows.len();
                let never = Time::NEVER;
                let flow =
                    |to| FlowSpec { from: *from, to, group: self.id, start: never, size: sizes.largest() };
                let transfers = |to| std::iter::repeat_n(flow(to), parallel as usize);
                flows.extend(pairs.partners_of(*from).flat_map(transfers));
                let ids = (first..planned.traffic.flows.len() + flows.len()).map(FlowId::from).collect();
                let think = pattern.think;
                let kind =
                    GeneratorKind::ClosedLoop { flows: ids, parallel, sizes: Arc::clone(&sizes), think };
                planned.traffic.generators.push(Generator { kind, start: self.start, until: self.until });
            }
        }
        Some(flows)
    }

    pub(super) fn trace(
        &mut self,
        file: &Path,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let topology = &self.ground.network.topology;
        let read = |content: Content| trace::read(&content, topology, self.id, self.start, self.room);
        match self.ground.document.input(file).and_then(read) {
            Ok(TraceFlows { flows, dependents }) => Some(self.enter(flows, dependents, planned, checker)),
            Err(rejection) => {
                for diagnostic in rejection.0 {
                    self.error("trace.file", diagnostic, checker);
                }
                None
            }
        }
    }

    /// Enters flows that wait for others. Returns those that may start in time.
    fn enter(
        &self,
        flows: Vec<FlowSpec>,
        dependents: Vec<Dependent>,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Vec<FlowSpec> {
        let waits: BTreeSet<_> = dependents.iter().map(|dependent| dependent.flow).collect();
        let mut next = planned.traffic.flows.len();
        let mut number = |(place, flow): (usize, &FlowSpec)| {
            let takes_part = flow.start < self.until || waits.contains(&FlowId::from(place));
            takes_part.then(|| {
                next += 1;
                FlowId::from(next - 1)
            })
        };
        let numbers: Vec<_> = flows.iter().enumerate().map(&mut number).collect();
        for dependent in dependents {
            let to = flows[dependent.flow.index()].from;
            let far = dependent.after.iter().find(|(flow, milestone)| {
                let flow = &flows[flow.index()];
                let from = if *milestone == Milestone::Received { flow.to } else { flow.from };
                from != to && !self.ground.paths.reaches(from, to)
            });
            if far.is_some() {
                let name = self.ground.network.topology.host_name(to);
                let message = format!("no path leads to \"{name}\" from a host whose flow it waits for");
                checker.error(&self.path, Diagnostic::error(Code::Unreachable, message));
                break;
            }
            let Some(flow) = numbers[dependent.flow.index()] else { continue };
            // What does not take part never happens.
            let after = dependent.after.iter();
            let after = after.filter_map(|(flow, milestone)| Some((numbers[flow.index()]?, *milestone)));
            let after = after.collect();
            planned.traffic.dependents.push(Dependent { flow, after, until: self.until, ..dependent });
        }
        flows.into_iter().zip(numbers).filter_map(|(flow, number)| number.map(|_| flow)).collect()
    }
}
