//! What is measured in the experiments of Annulus.

use narrows_proto::units::{Span, Time};
use narrows_sim::topology::Link;

use crate::repro::{Measured, link, metric};
use crate::results::Results;
use crate::statistics::mean;

pub(super) const REACTION: &[&str] = &["reaction_dc_rtts", "reaction_wan_rtts"];
pub(super) const MIX: &[&str] = &[
    "dc_mean_us",
    "dc_p99_us",
    "dc_unfinished_percent",
    "wan_gbps",
    "wan_lost_percent",
    "useful_percent",
    "wan_variation",
];
pub(super) const RPCS: &[&str] = &[
    "p50_us",
    "p99_us",
    "p999_us",
    "mean_us",
    "small_p99_us",
    "unfinished_percent",
    "wan_mean_ms",
    "wan_p99_ms",
    "in_p99_ms",
    "far_p99_ms",
    "wan_lost_percent",
    "wan_variation",
    "uplink_percent",
    "lost_percent",
];
pub(super) const CLOSED: &[&str] =
    &["dc_p99_us", "dc_gbps", "wan_gbps", "in_gbps", "wan_lost_percent", "useful_gbps", "uplink_percent"];

/// The uplink of the rack in which WAN flows begin.
const UPLINK: (&str, &str) = ("dc0/rack0/tor", "dc0/spine0");
/// When the burst of flows inside the data center begins.
const BURST: Span = Span::from_ms(300);
/// Round trips, as the talk has them.
const DC_RTT: Span = Span::from_us(10);
const WAN_RTT: Span = Span::from_ms(10);

/// A part as percent, zero if nothing was counted.
fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// Rate on some of the recorded links together, interval by interval: seconds and Gb/s.
fn rates(results: &Results, is_it: impl Fn(&Link) -> bool) -> Vec<(f64, f64)> {
    let interval = results.plan.record.links.as_ref().map_or(Span::ZERO, |(interval, _)| *interval);
    let topology = &results.plan.network.topology;
    let rows = results.links.iter().flatten().filter(|row| is_it(topology.link(row.link)));
    let end = results.ended.saturating_since(Time::ZERO).as_ps() / interval.as_ps().max(1);
    let mut bytes = vec![0_u64; end as usize + 1];
    for row in rows {
        let place = (row.start.as_ps() / interval.as_ps()) as usize;
        if let Some(sum) = bytes.get_mut(place) {
            *sum += row.bytes;
        }
    }
    let seconds = interval.as_secs_f64();
    (0..)
        .zip(bytes)
        .map(|(place, bytes)| (f64::from(place) * seconds, bytes as f64 * 8e-9 / seconds))
        .collect()
}

/// What hosts that send across the WAN put on their links.
fn wan_senders(results: &Results) -> Vec<(f64, f64)> {
    let topology = &results.plan.network.topology;
    let senders = ["dc0/rack0/host10", "dc0/rack0/host11"];
    rates(results, |link| senders.contains(&topology.node(link.from).name.as_str()))
}

/// How long after a burst of the data center WAN senders send less by 15 % and more; the rates meanwhile. Gains of BBR lower
/// the rate of one of two flows by a quarter.
pub(super) fn reaction(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let rates = wan_senders(results);
    let burst = BURST.as_secs_f64();
    let before: Vec<_> =
        rates.iter().filter(|(at, _)| (burst - 0.02..burst).contains(at)).map(|point| point.1).collect();
    let usual = mean(&before).unwrap_or_default();
    let lower = |pair: &&[(f64, f64)]| pair[0].0 >= burst && pair.iter().all(|point| point.1 < 0.85 * usual);
    let reacted = rates.windows(2).find(lower).map(|pair| pair[0].0 - burst);
    measured.quantity("reaction_dc_rtts", reacted.map(|seconds| seconds / DC_RTT.as_secs_f64()));
    measured.quantity("reaction_wan_rtts", reacted.map(|seconds| seconds / WAN_RTT.as_secs_f64()));
    let shown = |points: &[(f64, f64)]| -> Vec<_> {
        let around = points.iter().filter(|(at, _)| (burst - 0.005..burst + 0.04).contains(at));
        around.map(|(at, rate)| ((at - burst) * 1e3, *rate)).collect()
    };
    measured.series("wan", shown(&rates));
    let topology = &results.plan.network.topology;
    let uplink = topology.link(narrows_sim::LinkId::from(link(results, UPLINK)));
    let (from, to) = (uplink.from, uplink.to);
    measured.series("uplink", shown(&self::rates(results, |link| link.from == from && link.to == to)));
    measured
}

/// Flows of the data center beside flows that leave it.
pub(super) fn mix(results: &Results) -> Measured {
    let mut measured = Measured::default();
    measured.quantity("dc_mean_us", metric(results, "dc.mean_fct_us"));
    measured.quantity("dc_p99_us", metric(results, "dc.p99_fct_us"));
    let [flows, unfinished] =
        ["dc.flows", "dc.unfinished"].map(|name| metric(results, name).unwrap_or_default());
    measured.quantity("dc_unfinished_percent", percent(unfinished, flows));
    let wan = metric(results, "wan.goodput_gbps");
    measured.quantity("wan_gbps", wan);
    measured.quantity("wan_lost_percent", retransmitted(results));
    let dc = metric(results, "dc.goodput_gbps").unwrap_or_default();
    let capacity = uplink_rate(results);
    measured.quantity("useful_percent", percent(dc + wan.unwrap_or_default(), capacity));
    measured.quantity("wan_variation", variation(results, &wan_senders(results)));
    measured
}

fn uplink_rate(results: &Results) -> f64 {
    let topology = &results.plan.network.topology;
    topology.links()[link(results, UPLINK)].wire.rate.as_f64() / 1e9
}

/// Standard deviation over mean of a rate in milliseconds of the measured time.
fn variation(results: &Results, rates: &[(f64, f64)]) -> Option<f64> {
    let seconds = |at: Time| at.saturating_since(Time::ZERO).as_secs_f64();
    let (from, until) = (seconds(results.plan.measured.start), seconds(results.plan.measured.end));
    let mut bins: Vec<(u64, f64, f64)> = Vec::new();
    for (at, rate) in rates.iter().filter(|(at, _)| (from..until).contains(at)) {
        let bin = (at * 1e3 + 1e-6) as u64;
        match bins.last_mut() {
            Some(last) if last.0 == bin => (last.1, last.2) = (last.1 + rate, last.2 + 1.0),
            _ => bins.push((bin, *rate, 1.0)),
        }
    }
    let values: Vec<_> = bins.iter().map(|(_, sum, count)| sum / count).collect();
    let mean = mean(&values)?;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

/// RPCs between racks.
pub(super) fn rpcs(results: &Results) -> Measured {
    let mut measured = Measured::default();
    for (column, name) in [
        ("p50_us", "dc.p50_rpc_us"),
        ("p99_us", "dc.p99_rpc_us"),
        ("p999_us", "dc.p999_rpc_us"),
        ("mean_us", "dc.mean_rpc_us"),
        ("small_p99_us", "dc.small_p99_fct_us"),
    ] {
        measured.quantity(column, metric(results, name));
    }
    let [calls, unfinished] =
        ["total.rpcs", "total.unfinished_rpcs"].map(|name| metric(results, name).unwrap_or_default());
    measured.quantity("unfinished_percent", percent(unfinished, calls));
    // Those that leave the data center, those that come in, and, with relays at the border, those from there on.
    for (column, name) in [
        ("wan_mean_ms", "wan.mean_rpc_us"),
        ("wan_p99_ms", "wan.p99_rpc_us"),
        ("in_p99_ms", "wan_in.p99_rpc_us"),
        ("far_p99_ms", "far.p99_rpc_us"),
    ] {
        measured.quantity(column, metric(results, name).map(|us| us / 1e3));
    }
    measured.quantity("wan_lost_percent", retransmitted(results));
    let topology = &results.plan.network.topology;
    let name = |node| topology.node(node).name.as_str();
    let leaves = |link: &Link| name(link.from) == "dc0/border0" && name(link.to) == "dc1/border0";
    measured.quantity("wan_variation", variation(results, &rates(results, leaves)));
    measured.quantity("uplink_percent", uplink_percent(results));
    let lost = metric(results, "total.dc_lost_fraction").unwrap_or_default();
    measured.quantity("lost_percent", 100.0 * lost);
    measured
}

/// The part of WAN traffic that is retransmitted, in percent.
fn retransmitted(results: &Results) -> Option<f64> {
    metric(results, "wan.retransmitted_fraction").map(|part| 100.0 * part)
}

/// What the uplink of a rack carries, of what it could.
fn uplink_percent(results: &Results) -> f64 {
    let seconds = results.outline().measured_for().as_secs_f64();
    let sent = results.ports[link(results, UPLINK)].measured_bytes as f64 * 8e-9 / seconds;
    percent(sent, uplink_rate(results))
}

/// Clients that wait for each answer.
pub(super) fn closed(results: &Results) -> Measured {
    let mut measured = Measured::default();
    measured.quantity("dc_p99_us", metric(results, "dc.p99_fct_us"));
    for (column, name) in
        [("dc_gbps", "dc.goodput_gbps"), ("wan_gbps", "wan.goodput_gbps"), ("in_gbps", "wan_in.goodput_gbps")]
    {
        measured.quantity(column, metric(results, name));
    }
    measured.quantity("useful_gbps", metric(results, "total.goodput_gbps"));
    measured.quantity("wan_lost_percent", retransmitted(results));
    measured.quantity("uplink_percent", uplink_percent(results));
    measured
}
