//! Requests for a trace: what of a run, in which format, and where it goes.

use std::path::PathBuf;

use narrows_proto::units::Time;

/// File formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Packets, for Wireshark and other readers of captures.
    Pcapng,
    /// Events of senders, one file for each flow, for qvis.
    Qlog,
    /// Counters and events along a time line, for the Perfetto UI.
    Perfetto,
}

/// The requested output.
#[derive(Clone, Debug)]
pub struct Request {
    /// As what.
    pub format: Format,
    /// Flows by number, and traffic groups by name; all if there are none.
    pub flows: Vec<String>,
    /// Ports by the name of their link, `from->to`; the usual ones of the format if there are none.
    pub ports: Vec<String>,
    /// Events before this time are left out.
    pub from: Time,
    /// Events at this time or later are left out.
    pub until: Time,
    /// No more records than this.
    pub limit: u64,
    /// Where it goes; a place in the results folder if left out.
    pub out: Option<PathBuf>,
    /// Replace what is there.
    pub overwrite: bool,
    /// Where files that the scenario names are; the results folder if left out.
    pub files: Option<PathBuf>,
}

impl Request {
    /// All that a run does.
    pub fn all(format: Format) -> Self {
        let (flows, ports, limit) = (Vec::new(), Vec::new(), u64::MAX);
        let (from, until) = (Time::ZERO, Time::NEVER);
        Self { format, flows, ports, from, until, limit, out: None, overwrite: false, files: None }
    }
}

impl Format {
    /// Its name in a results folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Pcapng => "trace.pcapng",
            Self::Qlog => "qlog",
            Self::Perfetto => "trace.perfetto-trace",
        }
    }
}
