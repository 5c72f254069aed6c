//! Remote procedure calls: load, share and fan-out checked, calls drawn.

use narrows_sim::traffic::FlowSpec;
use narrows_sim::workload::{Calls, Pairs, Sizes, rpcs};
use narrows_sim::{FlowId, Purpose, Stream};

use super::load::{AskedLoad, Sent, on, reversed};
use super::{Builder, PlannedTraffic};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Expected, Load, LoadOf};
use crate::scenario::{Pattern, Rpc, Share};

impl Builder<'_> {
    pub(super) fn rpc(
        &mut self,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let Pattern::Rpc(pattern) = &self.group.pattern else { return None };
        let calls_so_far = planned.traffic.rpcs.len();
        self.planned.rpcs = Some(calls_so_far..calls_so_far);
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("rpc", pattern.between, names, checker);
        let sizes = self.sizes("rpc.sizes", &pattern.sizes, checker);
        let request = self.size("rpc.request", pattern.request, checker);
        let fan_out = self.at_least_one("rpc.fan_out", pattern.fan_out, checker);
        let share = self.share(pattern.share, checker);
        let Rpc { load, counts, utilization, .. } = *pattern;
        let (load, counts) =
            self.asked_load(&AskedLoad { key: "rpc", load, counts, utilization }, checker)?;
        let (pairs, sizes, request) = (pairs?, sizes?, request?);
        let (fan_out, share) = (fan_out?, share?);
        self.enough_servers(&pairs, fan_out, checker)?;

        let load = load * share;
        let links = self.links_of("rpc.of", &pattern.of, &pairs.receivers(), checker)?;
        let asked = self.crossings(&pairs, |pair| pair);
        let answered = self.crossings(&pairs, reversed);
        let transport = &planned.traffic.groups[self.id.index()].transport;
        let response = Sent::by(&sizes.sizes, transport);
        let request_sent = Sent::by(&Sizes::constant(request), transport);
        let (answers_cross, questions_cross) = (on(&links, &answered), on(&links, &asked));
        let mut bytes = response.counted(counts, answers_cross, questions_cross);
        if counts == LoadOf::Utilization {
            bytes += request_sent.counted(counts, questions_cross, answers_cross);
        }
        let responses = self.flows_for("rpc", load, &links, bytes, checker)?;
        self.room_for((2.0 * self.expected(responses)) as u64, "rpc", checker)?;
        for ((offered, asked), answered) in planned.offered.iter_mut().zip(&asked).zip(&answered) {
            *offered += responses * (request_sent.data * asked + response.data * answered);
        }
        let per_second = responses / f64::from(fan_out);
        self.planned.load =
            Some(Load { draws: fan_out, ..self.offered_load(load, counts, &links, per_second) });
        let calls = Calls {
            group: self.id,
            per_second,
            fan_out,
            request,
            responses: &sizes.sizes,
            time: self.start..self.until,
            most: self.ground.most,
        };
        let (seed, group) = (self.ground.seed, u64::from(self.id.0));
        let first = FlowId::from(planned.traffic.flows.len());
        let drawn = rpcs(&calls, &pairs, first, |client| {
            Stream::new(seed, Purpose::Rpc, group << 32 | u64::from(client.0))
        });
        if !drawn.complete {
            let (flows, per_arrival) = (2.0 * self.expected(responses), fan_out.saturating_mul(2));
            self.planned.expected = Some(Expected { flows, per_arrival, is_random: true });
        }
        planned.traffic.rpcs.extend(drawn.rpcs);
        self.planned.rpcs = Some(calls_so_far..planned.traffic.rpcs.len());
        Some(drawn.flows)
    }

    fn share(&self, share: Share, checker: &mut Checker<'_>) -> Option<f64> {
        let value = share.value();
        let fits = value > 0.0 && value <= 1.0;
        if !fits {
            let message = format!("share = {share}, expected above 0, at most 1");
            self.error("rpc.share", Diagnostic::error(Code::OutOfRange, message), checker);
        }
        fits.then_some(value)
    }

    /// Every client must have `fan_out` different servers.
    fn enough_servers(&self, pairs: &Pairs, fan_out: u32, checker: &mut Checker<'_>) -> Option<()> {
        let servers = |client: &&_| pairs.partners(**client);
        let poorest = pairs.from().iter().min_by_key(servers)?;
        let servers = pairs.partners(*poorest);
        if servers < fan_out as usize {
            let name = self.ground.network.topology.host_name(*poorest);
            let message =
                format!("fan_out = {fan_out}, but host \"{name}\" has only {servers} servers to ask");
            self.error("rpc.fan_out", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        Some(())
    }
}
