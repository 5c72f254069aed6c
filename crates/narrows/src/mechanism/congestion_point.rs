//! Congestion points (BCN, QCN), checked; and what is said of them and of those who listen to them.

use narrows_proto::docs as proto;
use narrows_proto::units::Bytes;
use narrows_sim::docs as sim;
use narrows_sim::switch::{Bcn, CongestionPoint, Message, Qcn, Sampling};

use super::{Entry, Mechanism};
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{At, Checker};
use crate::scenario::Switch;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "bcn",
        summary: "backward congestion notification: queues notify sources to slow down and to speed up",
        place: "switches.CLASS.congestion_point and reaction_points",
        source: "Bergamasco, IEEE 802.1 Interim, May 2005; Alizadeh et al., Allerton 2008",
        about: &[sim::CONGESTION_POINT, sim::CONGESTION_POINT_BCN, proto::REACTION_BCN],
        settings: &["Bcn", "BcnVersion", "Sampling", "Message", "Reach", "BcnReaction"],
    },
    Entry {
        name: "qcn",
        summary: "quantized congestion notification: queues notify sources to slow down",
        place: "switches.CLASS.congestion_point and reaction_points",
        source: "IEEE 802.1Qau-2010; Alizadeh et al., Allerton 2008",
        about: &[sim::CONGESTION_POINT, sim::CONGESTION_POINT_QCN, proto::REACTION_QCN],
        settings: &["Qcn", "Message", "Reach", "QcnReaction", "QcnVariant"],
    },
    Entry {
        name: "reaction_points",
        summary: "rate limiters at the edge of the network that react to congestion points",
        place: "reaction_points",
        source: "IEEE 802.1Qau-2010; Bergamasco, IEEE 802.1 Interim, May 2005",
        about: &[sim::LIMITER, sim::EDGE],
        settings: &["ReactionPoints", "Reaction", "ReactionPlace", "LimiterScope"],
    },
];

impl Mechanism for Home {
    fn needs_queues(&self, switch: &Switch) -> Option<&'static str> {
        (switch.congestion_point != CongestionPoint::Off).then_some("congestion_point")
    }

    fn check_queues(&self, path: &str, switch: &Switch, largest: Bytes, checker: &mut Checker<'_>) {
        let path = format!("{path}.congestion_point");
        match &switch.congestion_point {
            CongestionPoint::Off => {}
            CongestionPoint::Bcn(bcn) => At(checker, format!("{path}.bcn")).bcn(bcn, largest),
            CongestionPoint::Qcn(qcn) => At(checker, format!("{path}.qcn")).qcn(qcn, largest),
        }
    }
}

impl At<'_, '_> {
    fn message(&mut self, message: &Message) {
        self.frame("message.size", message.size);
        let priority = message.priority;
        self.unless(priority <= 7, "message.priority", &format!("priority = {priority}, expected 0 to 7"));
    }

    fn reachable(&mut self, key: &str, threshold: Bytes, largest: Bytes) {
        self.unless(threshold > Bytes::ZERO, key, &format!("{key} = {threshold}, expected more than 0 B"));
        if threshold >= largest {
            let message = format!("{key} = {threshold}, but a queue can hold at most {largest}");
            self.error(key, Diagnostic::error(Code::Threshold, message));
        }
    }

    fn weight(&mut self, weight: f64) {
        let message = format!("weight = {weight}, expected 0 to 1000");
        self.unless((0.0..=1000.0).contains(&weight), "weight", &message);
    }

    fn bcn(&mut self, bcn: &Bcn, largest: Bytes) {
        let Bcn { set_point, severe, weight, sampling, levels, message, .. } = bcn;
        self.reachable("set_point", *set_point, largest);
        if let Some(severe) = *severe {
            self.reachable("severe", severe, largest);
            let message = format!("severe = {severe}, expected more than set_point = {set_point}");
            self.unless(severe > *set_point, "severe", &message);
        }
        self.weight(*weight);
        match *sampling {
            Sampling::Random(p) => {
                let message = format!("random = {p}, expected above 0, at most 1");
                self.unless(p > 0.0 && p <= 1.0, "sampling.random", &message);
            }
            Sampling::Every(frames) => {
                self.unless(frames > 0, "sampling.every", "every = 0, expected at least 1");
            }
        }
        let rising = levels.is_sorted() && levels[0] > 0.0 && levels[2] <= 1.0;
        self.unless(
            rising,
            "levels",
            &format!("levels = {levels:?}, expected rising parts above 0, at most 1"),
        );
        self.message(message);
    }

    fn qcn(&mut self, qcn: &Qcn, largest: Bytes) {
        let Qcn { set_point, weight, sample_base, jitter, message } = qcn;
        self.reachable("set_point", *set_point, largest);
        self.weight(*weight);
        let message_of_base = format!("sample_base = {sample_base}, expected 1 kB to 1 GB");
        let bases = Bytes::new(1_000)..=Bytes::new(1_000_000_000);
        self.unless(bases.contains(sample_base), "sample_base", &message_of_base);
        let message_of_jitter = format!("jitter = {jitter}, expected at least 0, less than 1");
        self.unless((0.0..1.0).contains(jitter), "jitter", &message_of_jitter);
        self.message(message);
    }
}
