//! Imported files, run, beside a model of the simulator that they are for.

use std::fmt::Write;

use super::model::{Case, DELAY, Mode, Model};
use super::{import, texts};
use crate::imported::completion_times;

/// When each flow has arrived, after its start, in ps.
fn imported(case: &Case) -> Vec<u64> {
    let Case { mode, gbps, threshold, flows } = case;
    let (to, switch) = (flows.len(), flows.len() + 1);
    let mut topology = format!("{} 1 {}\n{switch}\n", flows.len() + 2, flows.len() + 1);
    for host in 0..switch {
        let _ = writeln!(topology, "{host} {switch} {gbps}Gbps {}ns 0", DELAY / 1000);
    }
    let mut flow = format!("{}\n", flows.len());
    for (from, (size, start)) in flows.iter().enumerate() {
        let _ = writeln!(flow, "{from} {to} 3 100 {size} 2.{start:06}");
    }
    let number = match mode {
        Mode::Dcqcn => 1,
        Mode::Hpcc => 3,
        Mode::Timely => 7,
    };
    let (ai, rate, kb) = (case.ai_mbps(), gbps * 1_000_000_000, threshold / 1000);
    let config = format!(
        "CC_MODE {number}\nSIMULATOR_STOP_TIME 2.5\nVAR_WIN 1\nRATE_AI {ai}Mb/s\nRATE_HAI {}Mb/s\nRP_TIMER 300\n\
         FAST_RECOVERY_TIMES 1\nALPHA_RESUME_INTERVAL 1\nRATE_DECREASE_INTERVAL 4\nEWMA_GAIN 0.00390625\nMI_THRESH 5\nL2_ACK_INTERVAL 1\n\
         KMIN_MAP 1 {rate} {kb}\nKMAX_MAP 1 {rate} {kb}\nPMAX_MAP 1 {rate} 1.0\nBUFFER_SIZE 32\n",
        2 * ai
    );
    completion_times(&import(&texts(&topology, Some(&flow), Some(&config))))
}

/// Flows that start one after the other.
#[derive(Clone, Copy)]
struct Flows {
    mode: Mode,
    count: u64,
    /// Bytes of each.
    size: u64,
    /// Between two starts, in us.
    apart: u64,
    /// Bytes above which packets are marked at 25 Gb/s, and in proportion at other rates.
    threshold: u64,
}

impl Flows {
    fn case(self, gbps: u64) -> Case {
        let flows = (0..self.count).map(|number| (self.size, number * self.apart)).collect();
        Case { mode: self.mode, gbps, threshold: self.threshold * gbps / 25, flows }
    }

    /// Imported by model: the mean completion time, and the largest difference of one flow.
    fn compared(self, gbps: u64) -> (f64, f64) {
        let case = self.case(gbps);
        let (ours, theirs) = (imported(&case), Model::run(&case));
        let mean = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len() as f64;
        let difference = |(a, b): (&u64, &u64)| (*a as f64 / *b as f64 - 1.0).abs();
        let largest = ours.iter().zip(&theirs).map(difference).fold(0.0, f64::max);
        (mean(&ours) / mean(&theirs), largest)
    }
}

const RATES: [u64; 2] = [25, 100];

#[test]
fn each_flow_under_timely_takes_as_long_as_in_hpccs_simulator() {
    for (count, size) in [(1, 1_000_000), (16, 64_000), (8, 500_000)] {
        let flows = Flows { mode: Mode::Timely, count, size, apart: 3, threshold: 100_000 };
        for gbps in RATES {
            let (_, largest) = flows.compared(gbps);
            assert!(largest < 1e-6, "{count} flows at {gbps} Gb/s: {largest}");
        }
    }
}

#[test]
fn flows_under_dcqcn_take_as_long_as_in_hpccs_simulator() {
    let eight = Flows { mode: Mode::Dcqcn, count: 8, size: 500_000, apart: 3, threshold: 20_000 };
    let one = Flows { count: 1, size: 1_000_000, ..eight };
    let two = Flows { count: 2, size: 2_000_000, apart: 7, threshold: 5_000, ..eight };
    for flows in [one, eight, two] {
        for gbps in RATES {
            let (mean, _) = flows.compared(gbps);
            assert!((mean - 1.0).abs() < 0.005, "{} flows at {gbps} Gb/s: {mean}", flows.count);
        }
    }
}

#[test]
fn flows_under_hpcc_take_as_long_as_in_hpccs_simulator() {
    let eight = Flows { mode: Mode::Hpcc, count: 8, size: 500_000, apart: 1, threshold: 100_000 };
    let one = Flows { count: 1, size: 1_000_000, ..eight };
    for gbps in RATES {
        let (mean, _) = one.compared(gbps);
        assert!((mean - 1.0).abs() < 1e-4, "one flow at {gbps} Gb/s: {mean}");
        let ratios: Vec<_> = (1..=12).map(|apart| Flows { apart, ..eight }.compared(gbps).0).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "eight flows at {gbps} Gb/s: {mean}, {ratios:?}");
    }
}
