//! Imported files, run, beside a model of the program that they are for.

use std::fmt::Write;

use narrows_formats::import::htsim::{Program, Settings, convert};
use narrows_formats::import::{Imported, source};
use narrows_proto::units::Bytes;

use super::model::{Case, DELAY, Model};
use crate::imported::completion_times;

/// When each flow has arrived, after its start, in ps.
fn imported(case: &Case) -> Vec<u64> {
    let Case { gbps, mtu, flows, .. } = case;
    let (to, hosts) = (flows.len(), flows.len() + 1);
    let mut matrix = format!("Nodes {}\nConnections {to}\n", 2 * hosts);
    for (from, (size, start)) in flows.iter().enumerate() {
        let _ = writeln!(matrix, "{from}->{to} id {} start {start} size {size}", from + 1);
    }
    let tier = |tier: u32, radix: String| {
        format!("Tier {tier}\nDownlink_speed_Gbps {gbps}\n{radix}\nDownlink_Latency_ns {}\n", DELAY / 1000)
    };
    let topology = format!(
        "Nodes {0}\nTiers 2\nPodsize {0}\n{1}{2}",
        2 * hosts,
        tier(0, format!("Radix_Down {hosts}\nRadix_Up {hosts}")),
        tier(1, "Radix_Down 2".into())
    );
    let settings = Settings { program: Program::Uec, mtu: Some(Bytes::new(*mtu)), ..Settings::default() };
    let (matrix, topology) = (source("a.cm", &matrix), source("a.topo", &topology));
    let imported = convert(&matrix, Some(&topology), &settings, "imported").unwrap();
    let scenario = format!("seed = {}\n{}", case.seed, imported.scenario);
    completion_times(&Imported { scenario, ..imported })
}

/// Flows that start one after the other.
#[derive(Clone, Copy)]
struct Flows {
    count: u64,
    /// Bytes of each.
    size: u64,
    /// Between two starts, in us.
    apart: u64,
}

impl Flows {
    /// Imported by model: the mean completion time.
    fn compared(self, gbps: u64, seed: u64) -> f64 {
        let flows = (0..self.count).map(|number| (self.size, 10 + number * self.apart)).collect();
        let case = Case { gbps, mtu: 4150, seed, flows };
        let mean = |times: Vec<u64>| times.iter().sum::<u64>() as f64 / times.len() as f64;
        mean(imported(&case)) / mean(Model::run(&case))
    }
}

const RATES: [u64; 2] = [100, 400];

#[test]
fn a_flow_takes_as_long_as_in_htsim() {
    for gbps in RATES {
        let ratio = Flows { count: 1, size: 2_000_000, apart: 0 }.compared(gbps, 1);
        assert!((ratio - 1.0).abs() < 1e-6, "at {gbps} Gb/s: {ratio}");
    }
}

#[test]
fn flows_that_share_a_link_take_as_long_as_in_htsim() {
    // Marks and trimmed packets are drawn: single runs differ by up to 5 %, the standard error of eight is at most 1.2 %.
    let cases =
        [(2, 4_000_000, 7), (4, 2_000_000, 5), (15, 500_000, 0), (31, 256_000, 0), (31, 1_000_000, 2)];
    for (count, size, apart) in cases {
        for gbps in RATES {
            let flows = Flows { count, size, apart };
            let ratios: Vec<_> = (1..=8).map(|seed| flows.compared(gbps, seed)).collect();
            let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
            assert!(
                (mean - 1.0).abs() < 0.025,
                "{count} flows of {size} B at {gbps} Gb/s: {mean}, {ratios:?}"
            );
        }
    }
}
