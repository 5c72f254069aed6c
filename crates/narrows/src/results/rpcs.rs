use std::ops::Range;

use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::traffic::Rpc;
use narrows_sim::{FlowId, HostId};

use super::flows::{FlowRow, Ideals};

/// A remote procedure call that began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RpcRow {
    /// Its number.
    pub rpc: u64,
    /// Its group.
    pub group: u32,
    /// Its first request. From there requests and responses take turns.
    pub first: FlowId,
    /// Who called.
    pub client: HostId,
    /// Number of servers called.
    pub fan_out: u32,
    /// Payload of all requests.
    pub requests: Bytes,
    /// Payload of all responses.
    pub responses: Bytes,
    /// When the client called.
    pub start: Time,
    /// When the client had all of the last response.
    pub end: Option<Time>,
    /// Least duration on the empty network: the longest, over all servers, of request and response one after the
    /// other.
    pub ideal: Span,
    /// It counts in summaries.
    pub measured: bool,
}

impl RpcRow {
    /// From the call to the last byte of the last response.
    pub fn time(&self) -> Option<Span> {
        self.end.map(|end| end - self.start)
    }

    /// Its time divided by the ideal one; at least 1.
    pub fn slowdown(&self) -> Option<f64> {
        self.time().map(|time| time.as_ps() as f64 / self.ideal.as_ps() as f64)
    }
}

/// Puts the calls together from their flows, which are in order.
pub(super) fn rpc_rows(ideals: &Ideals<'_>, flows: &[FlowRow]) -> Vec<RpcRow> {
    let rows = ideals.plan.traffic.rpcs.iter().enumerate();
    rows.filter_map(|(number, rpc)| row(number, *rpc, ideals, flows)).collect()
}

fn row(number: usize, rpc: Rpc, ideals: &Ideals<'_>, flows: &[FlowRow]) -> Option<RpcRow> {
    let plan = ideals.plan;
    let started = flows_of(rpc, flows);
    // A run that is interrupted leaves calls that never began.
    let begun = started.first()?;
    let spec = |flow: FlowId| &plan.traffic.flows[flow.index()];
    let payload = |flow: FlowId| spec(flow).size;
    let end = |response: FlowId| {
        let row = started.binary_search_by_key(&response, |row| row.flow).ok()?;
        started[row].end
    };
    let start = spec(rpc.first).start;
    let ideal = |(request, response)| {
        let there = ideals.of(request, start, payload(request));
        there + ideals.of(response, start + there, payload(response))
    };
    let responses = rpc.calls().map(|(_, response)| response);
    Some(RpcRow {
        rpc: number as u64,
        group: begun.group,
        first: rpc.first,
        client: spec(rpc.first).from,
        fan_out: rpc.fan_out,
        requests: rpc.calls().map(|(request, _)| payload(request)).sum(),
        responses: responses.clone().map(payload).sum(),
        start,
        end: responses.map(end).try_fold(Time::ZERO, |last, end| Some(last.max(end?))),
        ideal: rpc.calls().map(ideal).max().unwrap_or(Span::ZERO),
        measured: plan.measured.contains(&start),
    })
}

/// The flows of a call that started.
fn flows_of(rpc: Rpc, flows: &[FlowRow]) -> &[FlowRow] {
    let ids: Range<u32> = rpc.first.0..rpc.first.0 + 2 * rpc.fan_out;
    let from = flows.partition_point(|flow| flow.flow.0 < ids.start);
    let started = &flows[from..];
    &started[..started.partition_point(|flow| flow.flow.0 < ids.end)]
}
