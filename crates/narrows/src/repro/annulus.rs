//! Annulus: Saeed et al., SIGCOMM 2020, as far as its talk tells.
//!
//! The talk gives round trips, the ratio of traffic, the controls and three numbers. Everything else is a parameter below.

mod figures;
mod measure;

use self::measure::{MIX, REACTION, RPCS};
use super::{Alternative, Experiment, Paper, Parameter, owned};

pub(super) const PAPER: Paper = Paper {
    name: "annulus",
    title: "Annulus: A Dual Congestion Control Loop for Datacenter and WAN Traffic Aggregates",
    source: "A. Saeed, V. Gupta, P. Goyal, M. Sharif, R. Pan, M. Ammar, E. Zegura, K. Jang, M. Alizadeh, A. Kabbani, A. Vahdat, \
             ACM SIGCOMM 2020 (from its talk and abstract)",
    about: "WAN and data-center traffic share the uplink of a rack: what each does to the other, why queues of their own do \
            not help, and what a near-source loop changes. Then three racks, two in one data center and one 8 ms away, that \
            exchange RPCs at 10 to 90 % load, five parts inside the data center to one across, under DCTCP or DCQCN and BBR, \
            with and without Annulus. Beyond the paper: other controls inside Annulus, and hosts of 100 and 400 Gb/s.",
    claims: include_str!("../../repro/annulus/claims.toml"),
    figures: figures::figures,
    experiments,
    parameters,
};

/// Near-source switches that say what QCN says.
const POINTS: &str = "switches.default.congestion_point={ qcn = { set_point = \"33 kB\", message = { reach = \"tor_agg\" } } }";

fn cc(group: &str, control: &str) -> String {
    format!("traffic.{group}.cc={control}")
}

/// A control with a near-source loop, scaled to a round trip inside the data center of `dc_rtt`.
fn annulus(control: &str, dc_rtt: &str) -> String {
    format!("{{ annulus = {{ end_to_end = {control}, near_source = {{ dc_rtt = \"{dc_rtt}\" }} }} }}")
}
