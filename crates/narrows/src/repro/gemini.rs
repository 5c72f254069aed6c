//! GEMINI: Theorem 1 (§III-C) as curves. Everything else is in the folder `repro/gemini`.

mod theorem;

use self::theorem::{Sawtooth, over_flows, queue};
use super::ModelCurve;

pub(super) const CURVES: &[ModelCurve] = &[
    ("gemini.least_queue_rtt1_f1", || over_flows(1, 1, Sawtooth::least_queue)),
    ("gemini.least_queue_rtt3_f1", || over_flows(3, 1, Sawtooth::least_queue)),
    ("gemini.least_queue_rtt10_f1", || over_flows(10, 1, Sawtooth::least_queue)),
    ("gemini.least_queue_rtt30_f1", || over_flows(30, 1, Sawtooth::least_queue)),
    ("gemini.least_queue_rtt10_f4", || over_flows(10, 4, Sawtooth::least_queue)),
    ("gemini.least_queue_rtt30_f4", || over_flows(30, 4, Sawtooth::least_queue)),
    ("gemini.utilization_rtt1_f1", || over_flows(1, 1, Sawtooth::utilization_percent)),
    ("gemini.utilization_rtt3_f1", || over_flows(3, 1, Sawtooth::utilization_percent)),
    ("gemini.utilization_rtt10_f1", || over_flows(10, 1, Sawtooth::utilization_percent)),
    ("gemini.utilization_rtt30_f1", || over_flows(30, 1, Sawtooth::utilization_percent)),
    ("gemini.utilization_rtt10_f4", || over_flows(10, 4, Sawtooth::utilization_percent)),
    ("gemini.utilization_rtt30_f4", || over_flows(30, 4, Sawtooth::utilization_percent)),
    ("gemini.queue_f1", || queue(1)),
    ("gemini.queue_f4", || queue(4)),
];
