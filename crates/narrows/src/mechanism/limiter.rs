//! Reaction points: the settings of limiters, checked; and what is recorded of them and of near-source loops.

use std::borrow::Cow;
use std::sync::Arc;

use narrows_proto::annulus::Aggregate;
use narrows_proto::cc::Ranges;
use narrows_proto::units::{Bytes, Span};
use narrows_sim::mechanism::limiter::{LimiterObserver, LimiterRow};
use narrows_sim::observe::RowLimit;
use narrows_sim::switch::{CongestionPoint, MOST_CONGESTION_POINTS};
use narrows_sim::topology::NodeKind;
use narrows_sim::traffic::Transport;
use narrows_sim::{Network, NodeId, Reaction, ReactionPlace};

use super::{Entry, Mechanism, near_source};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{At, Checker, LARGEST_FRAME, LIVE_PER_HOST, Plan, rows};
use crate::results::{Described, Named, nodes};
use crate::scenario::Scenario;

pub(crate) struct Home;

// Those of congestion points say it.
pub(super) const ENTRIES: &[Entry] = &[];

impl Mechanism for Home {
    fn holds_flows(&self, _: &Transport, _: bool, network: &Network) -> Option<&'static str> {
        network.reaction.as_ref().map(|_| "reaction_points")
    }

    /// There is room for tags.
    fn check_packets(&self, network: &Network, largest: Bytes, checker: &mut Checker<'_>) {
        if let Some(reaction) = &network.reaction {
            let mut at = At(checker, "reaction_points".into());
            let tagged = largest.saturating_add(reaction.rule.tag_size());
            if tagged > LARGEST_FRAME {
                let message = format!("packets of {tagged} with their tag, expected at most {LARGEST_FRAME}");
                at.error(
                    &format!("rule.{}.tag", reaction.rule.name()),
                    Diagnostic::error(Code::OutOfRange, message),
                );
            }
        }
    }

    fn recorded_bytes(&self, plan: &Plan, end: Span) -> u64 {
        recorded_bytes(plan, end)
    }

    fn tables(&self) -> Vec<Box<dyn Named>> {
        vec![Box::new(table())]
    }
}

/// Checks reaction points and how they fit the congestion points.
pub(crate) fn reaction(
    scenario: &Scenario,
    network: &Network,
    checker: &mut Checker<'_>,
) -> Option<Reaction> {
    let kinds: Vec<_> = network
        .switches
        .iter()
        .flatten()
        .filter_map(|switch| match switch.congestion_point {
            CongestionPoint::Off => None,
            CongestionPoint::Bcn(_) => Some("bcn"),
            CongestionPoint::Qcn(_) => Some("qcn"),
        })
        .collect();
    check_number_of_points(network, checker);
    let Some(points) = &scenario.reaction_points else {
        let qcn_is_heard = near_source::listens(&scenario.traffic) && kinds.iter().all(|kind| *kind == "qcn");
        if !kinds.is_empty() && !qcn_is_heard {
            let message = "congestion points send messages, but there are no reaction points";
            let help = format!("add [reaction_points] with rule = {{ {} = {{}} }}", kinds[0]);
            checker.error("switches", Diagnostic::warning(Code::NobodyReacts, message).help(help));
        }
        return None;
    };
    let name = points.rule.name();
    if kinds.is_empty() {
        let message = "there are reaction points, but no switch has a congestion point";
        let help = format!("for example congestion_point = {{ {name} = {{}} }} in a table of [switches]");
        checker.error("reaction_points", Diagnostic::warning(Code::NobodyReacts, message).help(help));
    } else if let Some(other) = kinds.iter().find(|kind| **kind != name) {
        let message = format!("reaction points for {name}, but there are congestion points of {other}");
        checker.error("reaction_points.rule", Diagnostic::error(Code::Conflict, message));
    }
    let slowest = network.topology.host_rates().into_iter().min();
    let rule = format!("reaction_points.rule.{name}");
    checker.in_range(&rule, points.rule.check(slowest, &mut Ranges::default()));
    let mut at = At(checker, "reaction_points".into());
    at.unless(points.limiters > 0, "limiters", "limiters = 0, expected at least 1");
    if let Some(mark) = points.mark {
        let message = format!("mark = {mark}, expected less than what a limiter holds ({})", points.queue);
        at.unless(mark < points.queue, "mark", &message);
    }
    let most = 1 << 24;
    at.unless(
        points.limiters <= most,
        "limiters",
        &format!("{} limiters, expected at most {most}", points.limiters),
    );
    (!kinds.is_empty()).then(|| points.config())
}

fn check_number_of_points(network: &Network, checker: &mut Checker<'_>) {
    let ports = network.topology.ports();
    let has = |node: &usize| {
        network.switches[*node].as_ref().is_some_and(narrows_sim::switch::SwitchConfig::has_congestion_points)
    };
    let points: usize = (0..network.switches.len()).filter(has).map(|node| ports[node].len()).sum();
    if points > MOST_CONGESTION_POINTS {
        let message = format!(
            "{points} ports have congestion points, at most {MOST_CONGESTION_POINTS} can be distinguished"
        );
        checker.error("switches", Diagnostic::error(Code::OutOfRange, message));
    }
}

pub(crate) fn observer(plan: &Plan, _: &Arc<RowLimit>) -> Option<LimiterObserver> {
    let (interval, of) = plan.record.limiters.as_ref()?;
    Some(LimiterObserver::new(*interval, plan.network.topology.nodes().len(), of))
}

pub(crate) fn finish(observers: Vec<LimiterObserver>) -> Vec<LimiterRow> {
    LimiterObserver::finish(observers)
}

/// One for each limiter or near-source loop and interval.
fn recorded_bytes(plan: &Plan, end: Span) -> u64 {
    let Some((interval, nodes)) = &plan.record.limiters else { return 0 };
    let flows = plan.most_flows();
    let reaction = plan.network.reaction.as_ref();
    let at = |node: &NodeId| {
        let is_host = matches!(plan.network.topology.node(*node).kind, NodeKind::Host(_));
        let of_place = reaction.filter(|reaction| (reaction.place == ReactionPlace::Host) == is_host);
        let limiters = of_place.map_or(0, |reaction| u64::from(reaction.limiters).min(flows));
        let loops = plan.traffic.groups.iter().filter_map(|group| group.near_source.as_ref()).map(|near| {
            let places = near.places.iter().max().map_or(1, |most| u64::from(*most) + 1);
            match near.per {
                Aggregate::Flow => flows.min(LIVE_PER_HOST),
                Aggregate::DestinationDc => places,
                Aggregate::Host | Aggregate::Rack | Aggregate::SourceDc => 1,
            }
        });
        limiters.saturating_add(if is_host { loops.sum() } else { 0 })
    };
    let limiters = nodes.iter().map(at).fold(0, u64::saturating_add);
    rows::bytes::<LimiterRow>(limiters.saturating_mul(rows::intervals(end, *interval)))
}

fn table() -> Described<LimiterRow> {
    let table = Described::<LimiterRow>::new(
        "limiters",
        "One row per limiter and interval: its state at its first event in it.",
        "with `record.limiters`",
        |run| run.recorded.limiters.as_deref().map(Cow::Borrowed),
    );
    table
        .ps("at_ps", "When the event was.", |row, _| row.at.as_ps())
        .name("node", "The host or edge switch that has the limiter.", nodes, |row, _| row.node.0)
        .count("limiter", "Which of the limiters there. Numbers are used again.", |row, _| row.limiter.into())
        .bps("rate_bps", "How fast it sends; 0 while it is stopped.", |row, _| row.rate.as_bps())
        .bytes("waiting_bytes", "What waits in it.", |row, _| row.waiting.get())
}
