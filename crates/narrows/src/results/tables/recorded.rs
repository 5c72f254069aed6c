//! Tables recorded of senders.

use std::borrow::Cow;

use narrows_proto::units::{BitRate, Time};
use narrows_sim::FlowId;
use narrows_sim::observe::{StateRow, WindowRow};

use super::described::{Described, groups};

pub(super) fn windows() -> Described<WindowRow> {
    let table = Described::<WindowRow>::new(
        "windows",
        "One row per recorded flow and interval: the state of the sender after its first acknowledgment in it.",
        "with `record.windows`",
        |run| run.windows.as_deref().map(Cow::Borrowed),
    );
    of_sender(table, |row| (row.at, row.flow))
        .bytes("cwnd_bytes", "The congestion window.", |row, _| row.cwnd.get())
        .maybe_bps(
            "pacing_bps",
            "The rate at which packets leave; missing if the control sets none.",
            |row, _| row.pacing.map(BitRate::as_bps),
        )
        .bytes(
            "inflight_bytes",
            "Payload in flight, before the acknowledgment allows more to be sent.",
            |row, _| row.inflight.get(),
        )
        .ps("srtt_ps", "The smoothed round-trip time.", |row, _| row.srtt.as_ps())
        .bytes("delivered_bytes", "Payload that is known to have arrived, of this flow alone.", |row, _| {
            row.delivered.get()
        })
        .bytes("retransmitted_bytes", "Payload retransmitted since the flow began.", |row, _| {
            row.retransmitted.get()
        })
        .bytes("marked_bytes", "Payload acknowledged as marked since the flow began.", |row, _| {
            row.marked.get()
        })
        .count("timeouts", "Expiries of its timer since the flow began.", |row, _| row.timeouts)
        .count("cnps", "Congestion notification packets received since the flow began.", |row, _| row.cnps)
        .count(
            "messages",
            "Messages of congestion points that its host has received about it since the run began.",
            |row, _| row.messages,
        )
}

pub(super) fn state() -> Described<StateRow> {
    let table = Described::<StateRow>::new(
        "state",
        "One row per recorded flow, interval and name: what the congestion control keeps besides window and rate, after its first acknowledgment in it. `narrows explain NAME` says what a control has.",
        "with `record.state`",
        |run| run.state.as_deref().map(Cow::Borrowed),
    );
    of_sender(table, |row| (row.at, row.flow))
        .text("name", "What it is, with its unit: `alpha`, `ssthresh_bytes`, `mode`.", |row| row.name)
        .maybe_ratio("value", "The number; missing if it is a word.", |row| row.value.number())
        .maybe_text("word", "The word; missing if it is a number.", |row| row.value.word())
}

/// The columns of a table that say of which acknowledgment of which flow a row is.
fn of_sender<R: Clone>(table: Described<R>, of: fn(&R) -> (Time, FlowId)) -> Described<R> {
    table
        .ps("at_ps", "When the acknowledgment came.", move |row, _| of(row).0.as_ps())
        .count("flow", "Number of the flow, as in `flows`.", move |row, _| of(row).1.0.into())
        .name("group", "The traffic group.", groups, move |row, run| {
            run.plan.traffic.flows[of(row).1.index()].group.0
        })
}
