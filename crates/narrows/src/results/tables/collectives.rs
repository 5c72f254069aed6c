//! Tables of collectives: iterations, and their steps.

use std::borrow::Cow;

use narrows_proto::units::{BitRate, Span, Time};
use narrows_sim::topology::Link;

use super::super::{CollectiveRow, FlowRow, Results, StepRow};
use super::described::{Described, groups, hosts, nodes};

fn any(run: &Results) -> bool {
    run.plan.groups.iter().any(|group| group.collective.is_some())
}

pub(super) fn collectives() -> Described<CollectiveRow> {
    let table = Described::<CollectiveRow>::new(
        "collectives",
        "One row per iteration of a collective that began, finished or not.",
        "with traffic of pattern `collective` or `schedule`",
        |run| any(run).then_some(Cow::Borrowed(&run.collectives)),
    );
    table
        .name("group", "The traffic group.", groups, |row, _| row.group)
        .count("iteration", "Its number; the first is 0.", |row, _| row.iteration.into())
        .count("ranks", "Number of ranks.", |row, _| row.ranks.into())
        .bytes("size_bytes", "Bytes of the whole vector; of a schedule all that is sent.", |row, _| row.size.get())
        .ps("start_ps", "When the first rank began it.", |row, _| row.start.as_ps())
        .maybe_ps("end_ps", "When the last rank had received and computed everything; missing if that did not happen before the run ended.", |row, _| row.end.map(Time::as_ps))
        .maybe_ps("time_ps", "From the start of the first rank to the end of the last.", |row, _| row.time().map(Span::as_ps))
        .maybe_bps("algorithm_bps", "Algorithm bandwidth: size divided by time. Missing of a schedule.", |row, _| row.algorithm().map(BitRate::as_bps))
        .maybe_bps("bus_bps", "Bus bandwidth as NCCL's tests define it: algorithm bandwidth times 2(n − 1)/n for an all-reduce, (n − 1)/n for an all-gather, a reduce-scatter and an all-to-all, 1 for a pipeline. Missing of a schedule.", |row, _| row.bus().map(BitRate::as_bps))
        .maybe_ps("first_end_ps", "When the first rank had received and computed everything.", |row, _| row.first_end.map(Time::as_ps))
        .count("slowest_rank", "The rank that was the last, or one that did not finish.", |row, _| row.slowest.into())
        .name("slowest_host", "Its host.", hosts, slowest_host)
        .maybe_count("late_flow", "Of the messages that led to the last one that this rank received, each of which was waited for, the flow of the one that took longest beyond its time on the empty network.", |row, _| row.late.map(|late| late.flow.0.into()))
        .maybe_count("late_turn", "The turn of that message.", |row, _| row.late.map(|late| late.incarnation))
        .maybe_name("late_src", "The host that sent it.", hosts, |row, run| Some(late(row, run)?.from.0))
        .maybe_name("late_dst", "The host that received it.", hosts, |row, run| Some(late(row, run)?.to.0))
        .maybe_count("late_step", "Its step.", |row, _| row.late.map(|late| late.step.into()))
        .maybe_ps("late_ps", "Time that it took beyond that on the empty network.", |row, _| row.late.map(|late| late.late.as_ps()))
        .maybe_ps("all_late_ps", "The same of all messages that led there together.", |row, _| row.late.map(|late| late.all.as_ps()))
        .maybe_name("late_port", "The node whose port it is where most waited on its path: while the message was under way if queues of its path were recorded, otherwise in the whole run. Of all paths that it may have taken where packets are sprayed.", nodes, |row, run| Some(port(row, run)?.from.0))
        .maybe_name("late_port_to", "The node at the other end of the link of that port.", nodes, |row, run| Some(port(row, run)?.to.0))
        .maybe_bytes("late_backlog_bytes", "The most that waited there.", |row, _| row.late.and_then(|late| Some(late.port?.1.get())))
        .flag("measured", "The iteration counts in the summary: it began in the measured time.", |row, _| row.measured)
}

fn slowest_host(row: &CollectiveRow, run: &Results) -> u32 {
    let collective = run.plan.groups[row.group as usize].collective.as_ref();
    let first = collective.map_or(0, |collective| collective.ranks.start);
    run.plan.traffic.ranks[first + row.slowest as usize].host.0
}

fn late<'a>(row: &CollectiveRow, run: &'a Results) -> Option<&'a FlowRow> {
    let late = row.late?;
    let key = (late.flow, late.incarnation);
    run.flows
        .binary_search_by_key(&key, |flow| (flow.flow, flow.incarnation))
        .ok()
        .map(|place| &run.flows[place])
}

fn port<'a>(row: &CollectiveRow, run: &'a Results) -> Option<&'a Link> {
    Some(run.plan.network.topology.link(row.late?.port?.0))
}

pub(super) fn steps() -> Described<StepRow> {
    let table = Described::<StepRow>::new(
        "collective_steps",
        "One row per step of an iteration of a collective: messages that have the same place in it.",
        "with traffic of pattern `collective` or `schedule`",
        |run| any(run).then_some(Cow::Borrowed(&run.steps)),
    );
    table
        .name("group", "The traffic group.", groups, |row, _| row.group)
        .count("iteration", "The iteration.", |row, _| row.iteration.into())
        .count("step", "Its number; the first is 0.", |row, _| row.step.into())
        .count("messages", "Messages that began.", |row, _| row.messages.into())
        .ps("start_ps", "When the first of them began.", |row, _| row.start.as_ps())
        .maybe_ps(
            "end_ps",
            "When the last of them had arrived; missing if one had not when the run ended.",
            |row, _| row.end.map(Time::as_ps),
        )
        .maybe_ps("time_ps", "From the start of the first message to the arrival of the last.", |row, _| {
            row.end.map(|end| (end - row.start).as_ps())
        })
        .count(
            "late_flow",
            "The flow of the message that took longest beyond its time on the empty network.",
            |row, run| slowest(row, run).flow.0.into(),
        )
        .count("late_turn", "The turn of that message.", |row, run| slowest(row, run).incarnation)
        .name("src", "The host that sent it.", hosts, |row, run| slowest(row, run).from.0)
        .name("dst", "The host that received it.", hosts, |row, run| slowest(row, run).to.0)
        .ps(
            "late_ps",
            "Time that it took beyond that on the empty network, so far if it has not arrived.",
            |row, _| row.late.as_ps(),
        )
}

fn slowest<'a>(row: &StepRow, run: &'a Results) -> &'a FlowRow {
    &run.flows[row.slowest as usize]
}
