//! Tables of traffic: flows, remote procedure calls, datagrams.

use std::borrow::Cow;

use narrows_proto::units::{Span, Time};
use narrows_sim::traffic::FlowSpec;
use narrows_sim::{DatagramRecord, FlowId};

use super::super::{FlowRow, Results, RpcRow};
use super::described::{Described, groups, hosts};
use crate::counters::{self, CounterColumn};
use crate::plan::Plan;

pub(super) fn flows() -> Described<FlowRow> {
    let mut table = Described::<FlowRow>::new(
        "flows",
        "One row per flow that started, finished or not.",
        "always",
        |run| Some(Cow::Borrowed(&run.flows)),
    );
    table = table
        .count("flow", "Number of the flow, in the order of the scenario. A client that starts one flow after another is one number.", |row, _| row.flow.0.into())
        .count("turn", "How many flows the same client had started before.", |row, _| row.incarnation)
        .name("group", "The traffic group.", groups, |row, _| row.group)
        .name("control", "The congestion control.", controls, |row, _| row.group)
        .name("src", "The host that sent.", hosts, |row, _| row.from.0)
        .name("dst", "The host that received.", hosts, |row, _| row.to.0)
        .maybe_bytes("size_bytes", "Payload; missing if the flow has no end.", |row, _| (!row.is_endless()).then_some(row.size.get()))
        .ps("start_ps", "When the application handed the flow over.", |row, _| row.start.as_ps())
        .maybe_ps("end_ps", "When the receiver had all of it; missing if that did not happen before the run ended.", |row, _| row.end.map(Time::as_ps))
        .maybe_ps("injected_ps", "When the last byte began to leave the sender for the first time.", |row, _| row.stats.injected.map(Time::as_ps))
        .maybe_ps("fct_ps", "Flow completion time: from the hand-over to the arrival of the last byte.", |row, _| row.fct().map(Span::as_ps))
        .maybe_ps("ideal_fct_ps", "The completion time on the empty network: exact for one flow alone, a lower bound where packets are sprayed over several paths; missing if the flow has no end.", |row, _| (!row.is_endless()).then_some(row.ideal.as_ps()))
        .maybe_ratio("slowdown", "`fct_ps` divided by `ideal_fct_ps`; at least 1.", FlowRow::slowdown)
        .bytes("delivered_bytes", "Payload that the sender knows to have arrived.", |row, _| row.delivered.get())
        .bytes("delivered_measured_bytes", "The part of it that became known in the measured time.", |row, _| row.delivered_measured.get());
    for CounterColumn { name, counter, value } in counters::of_senders() {
        table = table.counter(name, counter, move |row, _| value(&row.stats));
    }
    table.flag("measured", "The flow counts in the summary: it started in the measured time.", |row, _| {
        row.measured
    })
}

pub(super) fn rpcs() -> Described<RpcRow> {
    let table = Described::<RpcRow>::new(
        "rpcs",
        "One row per remote procedure call that began, finished or not.",
        "with traffic of pattern `rpc`",
        |run| {
            let any = run.plan.groups.iter().any(|group| group.rpcs.is_some());
            any.then_some(Cow::Borrowed(&run.rpcs))
        },
    );
    table
        .count("rpc", "Number of the call.", |row, _| row.rpc)
        .name("group", "The traffic group.", groups, |row, _| row.group)
        .name("client", "The host that called.", hosts, |row, _| row.client.0)
        .count("first_flow", "Number of its first request in `flows`. From there requests and responses take turns.", |row, _| row.first.0.into())
        .count("fan_out", "How many servers were asked.", |row, _| row.fan_out.into())
        .bytes("request_bytes", "Payload of all requests.", |row, _| row.requests.get())
        .bytes("response_bytes", "Payload of all responses.", |row, _| row.responses.get())
        .ps("start_ps", "When the client called.", |row, _| row.start.as_ps())
        .maybe_ps("end_ps", "When the client had all of the last response; missing if that did not happen before the run ended.", |row, _| row.end.map(Time::as_ps))
        .maybe_ps("time_ps", "From the call to the last byte of the last response.", |row, _| row.time().map(Span::as_ps))
        .ps("ideal_time_ps", "The least time on the empty network: the longest, over all servers, of request and response one after the other; a lower bound where packets are sprayed.", |row, _| row.ideal.as_ps())
        .maybe_ratio("slowdown", "`time_ps` divided by `ideal_time_ps`; at least 1.", RpcRow::slowdown)
        .flag("measured", "The call counts in the summary: it began in the measured time.", |row, _| row.measured)
}

pub(super) fn datagrams() -> Described<DatagramRecord> {
    let table = Described::<DatagramRecord>::new(
        "datagrams",
        "One row per source of datagrams.",
        "with traffic over `datagram`",
        |run| (!run.datagrams.is_empty()).then_some(Cow::Borrowed(&run.datagrams)),
    );
    table
        .count("flow", "Number of the source.", |row, _| row.flow.0.into())
        .name("group", "The traffic group.", groups, |row, run| planned(row.flow, run).group.0)
        .name("src", "The host that sent.", hosts, |row, run| planned(row.flow, run).from.0)
        .name("dst", "The host that received.", hosts, |row, run| planned(row.flow, run).to.0)
        .count("sent", "Datagrams handed to the link.", |row, _| row.sent)
        .count("dropped_at_source", "Datagrams dropped in the host, for want of room.", |row, _| {
            row.dropped_at_source
        })
        .count("received", "Datagrams that arrived.", |row, _| row.received)
        .bytes("received_bytes", "Payload that arrived.", |row, _| row.received_bytes.get())
}

fn planned(flow: FlowId, run: &Results) -> &FlowSpec {
    &run.plan.traffic.flows[flow.index()]
}

fn controls(plan: &Plan) -> Vec<String> {
    plan.groups.iter().map(|group| group.control.clone()).collect()
}
