//! Runs with real hosts: the kernel that ran them, and how late packets were delivered.

use narrows_proto::units::Span;
use narrows_sim::observe::WindowRow;
use narrows_sim::{FlowRecord, Sampled};
use serde_json::{Map, Value, json};

use crate::diagnostic::{Code, Diagnostic};

/// Folder of a run with what programs of the user have printed.
pub const PROGRAMS: &str = "programs";

/// The part of a run that happened on real hosts.
#[derive(Clone, Debug)]
pub struct RealHosts {
    /// Name and version of the kernel.
    pub kernel: String,
    /// Traffic groups, each with the kernel's control.
    pub controls: Vec<(String, String)>,
    /// Seconds of the clock for a second of the scenario.
    pub scale: f64,
    /// Lateness of packets.
    pub lateness: Lateness,
    /// Time of a processor that the fabric took for each packet delivered.
    pub cost: Span,
    /// Settings of the scenario that the kernel does not have, and what it does instead.
    pub differences: Vec<String>,
    /// Programs of the user.
    pub programs: Vec<RealProgram>,
}

/// A program of the user on a real host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealProgram {
    /// Name of the host.
    pub host: String,
    /// The program, as it was written; none if it was a shell at the terminal.
    pub command: Option<String>,
    /// Its end: an exit status, a signal, or that of the run.
    pub end: String,
}

/// Lateness of what was delivered to real hosts, in time of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Packets delivered.
    pub deliveries: u64,
    /// Half of them were later than this.
    pub median: Span,
    /// One in a hundred was later than this.
    pub p99: Span,
    /// The latest.
    pub max: Span,
    /// Bound of `p99`.
    pub bound: Span,
}

/// Measurements at real hosts.
#[derive(Debug)]
pub struct Measured {
    /// Every flow that started, by flow.
    pub flows: Vec<FlowRecord>,
    /// Payload that the flows under way had delivered at the moments of the traffic.
    pub sampled: Sampled,
    /// Senders, by time and flow.
    pub windows: Vec<WindowRow>,
    /// The hosts.
    pub hosts: RealHosts,
    /// The run was not interrupted.
    pub complete: bool,
}

impl Lateness {
    /// Too late for the run to mean anything.
    pub fn is_void(&self) -> bool {
        self.p99 > self.bound
    }

    /// The warning of a run that was too late.
    pub(super) fn doubt(&self) -> Option<Diagnostic> {
        let Self { p99, max, bound, .. } = self;
        let message = format!(
            "the run is void: one packet in a hundred was delivered more than {p99} late (at most {max}), the bound is {bound}"
        );
        let help = "use an idle machine, lower rates, or --scale, which slows down everything";
        self.is_void().then(|| Diagnostic::warning(Code::Late, message).help(help))
    }
}

impl RealHosts {
    pub(super) fn to_json(&self) -> Value {
        let Lateness { deliveries, median, p99, max, bound } = self.lateness;
        let control = |(group, control): &(String, String)| (group.clone(), json!(control));
        let program = |program: &RealProgram| json!({ "host": program.host, "command": program.command, "end": program.end });
        json!({
            "kernel": self.kernel,
            "controls": self.controls.iter().map(control).collect::<Map<_, _>>(),
            "scale": self.scale,
            "deliveries": deliveries,
            "lateness_p50_ps": median.as_ps(),
            "lateness_p99_ps": p99.as_ps(),
            "lateness_max_ps": max.as_ps(),
            "lateness_bound_ps": bound.as_ps(),
            "cost_per_packet_ps": self.cost.as_ps(),
            "void": self.lateness.is_void(),
            "differences": self.differences,
            "programs": self.programs.iter().map(program).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_void_when_the_99th_percentile_is_above_the_bound() {
        let lateness =
            |p99| Lateness { p99: Span::from_us(p99), bound: Span::from_us(200), ..Lateness::default() };
        assert!(lateness(200).doubt().is_none());
        assert!(lateness(201).doubt().is_some_and(|doubt| doubt.message.contains("201 us late")));
    }
}
