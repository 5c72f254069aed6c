//! Annulus: a near-source control loop beside any end-to-end control.
//!
//! A switch close to the sender notifies it of congestion within microseconds, while the end-to-end loop of a WAN flow needs a
//! WAN round trip. The two loops are not merged: the end-to-end control keeps its window and its pacing rate, and a
//! [`NearSource`] loop has a rate of its own. A packet leaves when both allow it.
//!
//! ```text
//! May leave    inflight < cwnd, and min(R_e2e, R_ns) permits             talk, "Annulus Overview"
//! CNM          no R_ns yet: R_ns = target = the rate measured lately     open in the talk: `start`
//!              then QCN's cut                                            802.1Qau clause 32, reaction::qcn
//! Recovery     QCN's byte and time stages, with scaled constants         802.1Qau clause 32
//! Release      R_ns is line rate, or it has held up nothing for a while  open in the talk: `release_after`
//! ```
//! Because nothing is wrapped, nothing has to be forwarded: the end-to-end control receives exactly what it receives without
//! Annulus. Three rules keep the loops from winding each other up; each can be switched off:
//!
//! - What is sent while the near-source loop holds the sender up is marked as application-limited, so that it does not
//!   lower an estimate of the bandwidth ([`near_source::Params::app_limited`]).
//! - A window that does not stop the sender does not grow (RFC 7661), whatever else stops it
//!   ([`near_source::Params::validate_window`]).
//! - While the end-to-end loop is the slower one, R_ns stays below a multiple of the rate in fact sent, and the loop ends
//!   when it has held up nothing for a round trip ([`near_source::Params::cap`]).
//!
//! Source: Saeed, Gupta, Goyal, Sharif, Pan, Ammar, Zegura, Jang, Alizadeh, Kabbani, Vahdat: Annulus: A Dual Congestion
//! Control Loop for Datacenter and WAN Traffic Aggregates, SIGCOMM 2020, as far as the talk says. The talk names QCN in
//! software and two loops; what it leaves open is a setting.

use crate::cc::{Config, OutOfRange, Ranges};
use crate::units::BitRate;

mod meter;
pub mod near_source;

pub use near_source::NearSource;

/// One line for lists.
pub const SUMMARY: &str = "any end-to-end control with a near-source loop beside it";
/// Where it is defined.
pub const SOURCE: &str = "Saeed et al., SIGCOMM 2020";

/// Settings of Annulus.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Annulus")]
pub struct Params {
    /// The end-to-end control: any but `annulus`.
    pub end_to_end: Box<Config>,
    /// Flows that share one near-source loop.
    #[serde(default)]
    pub per: Aggregate,
    /// Settings of the near-source loop.
    #[serde(default)]
    pub near_source: near_source::Params,
}

/// Flows that share one near-source loop. All of them start at one host.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AnnulusAggregate")]
pub enum Aggregate {
    /// None: every flow has its own.
    #[default]
    Flow,
    /// All flows of a host that belong to the same traffic group.
    Host,
    /// The flows of a host in the same traffic group to the same data center.
    DestinationDc,
    /// The flows of all hosts of a rack. Refused: a loop belongs to one host.
    Rack,
    /// The flows of all hosts of a data center. Refused: a loop belongs to one host.
    SourceDc,
}

impl Params {
    /// Around this control, with default settings.
    pub fn around(end_to_end: Config) -> Self {
        let (per, near_source) = (Aggregate::default(), near_source::Params::default());
        Self { end_to_end: Box::new(end_to_end), per, near_source }
    }

    /// Checks the settings of the near-source loop and of the aggregate; those that depend on the line rate only if it is
    /// known. The end-to-end control is not looked at, except that it is not Annulus again.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, line_rate: Option<BitRate>, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let nested = matches!(*self.end_to_end, Config::Annulus(_));
        let one = "one control without a near-source loop of its own";
        ranges.unless(!nested, "end_to_end", "annulus", one)?;
        let spans = match self.per {
            Aggregate::Flow | Aggregate::Host | Aggregate::DestinationDc => None,
            Aggregate::Rack => Some("rack"),
            Aggregate::SourceDc => Some("source_dc"),
        };
        let at_one = "flow, host or destination_dc: a near-source loop belongs to one host";
        ranges.unless(spans.is_none(), "per", spans.unwrap_or_default(), at_one)?;
        self.near_source.check(line_rate, ranges)
    }
}
