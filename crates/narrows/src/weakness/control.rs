//! Controls that can be searched for weaknesses: those of streams; and the others that show what is possible on a path.

use narrows_proto::cc::{Config, Ecn, registry};

use super::path::Queue;
use crate::diagnostic::{Checked, Code, Diagnostic};

/// Controls that show what can be done on a path without marks, each a different idea, in the order in which they are tried: a model of
/// the path (BBRv3, BBR), delays (Copa, Vegas), losses (CUBIC, Reno).
const REFERENCES: [&str; 6] = ["bbr3", "copa", "cubic", "vegas", "bbr", "reno"];
/// The same on a path whose switch marks.
const MARKED_REFERENCES: [&str; 4] = ["dctcp", "cubic", "reno", "bbr3"];
/// Rivals on either.
const RIVALS: [&str; 4] = ["cubic", "reno", "bbr", "bbr3"];
const MARKED_RIVALS: [&str; 3] = ["dctcp", "cubic", "reno"];

/// A control under test.
#[derive(Clone, Debug)]
pub struct Control {
    /// Its name in scenarios.
    pub name: &'static str,
    /// It needs marks, so that the switch gives some.
    is_marked: bool,
}

impl Control {
    /// # Errors
    /// If there is none of this name, or it is none that one path of streams can show.
    pub fn find(name: &str) -> Checked<Self> {
        let all = Config::all();
        let Some(config) = all.iter().find(|config| config.name() == name) else {
            if registry::NAMES.contains(&name) {
                let message = format!("{name} is no control by itself, so it cannot be searched");
                return Err(Diagnostic::error(Code::Conflict, message).help(known()).into());
            }
            let error =
                Diagnostic::error(Code::UnknownName, format!("unknown congestion control \"{name}\""));
            return Err(error.known(name, Self::names()).into());
        };
        let needs =
            [(config.needs_rdma() || config.reads_telemetry(), "RDMA"), (config.needs_rack(), "a rack")];
        if let Some((_, what)) = needs.into_iter().find(|(needs, _)| *needs) {
            let message = format!("{name} needs {what}: paths of the search carry streams over one switch");
            return Err(Diagnostic::error(Code::Conflict, message).help(known()).into());
        }
        Ok(Self { name: config.name(), is_marked: config.ecn() != Ecn::Off })
    }

    /// Names of all that can be searched.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let all = Config::all().into_iter();
        let is_stream =
            |config: &Config| !config.needs_rdma() && !config.reads_telemetry() && !config.needs_rack();
        all.filter(is_stream).map(|config| config.name())
    }

    /// Controls that are put in its place on the same path.
    pub(super) fn references(&self) -> impl Iterator<Item = &'static str> {
        let all: &[_] = if self.is_marked { &MARKED_REFERENCES } else { &REFERENCES };
        all.iter().copied().filter(|name| *name != self.name)
    }

    /// Controls of rivals, itself included.
    pub(super) fn rivals(&self) -> Vec<String> {
        let all: &[_] = if self.is_marked { &MARKED_RIVALS } else { &RIVALS };
        let others = all.iter().filter(|name| **name != self.name);
        others.chain([&self.name]).map(|name| (*name).to_owned()).collect()
    }

    /// Managements that a queue may have.
    pub(super) fn queues(&self) -> &'static [Queue] {
        match self.is_marked {
            // It takes its K from a step threshold.
            true if self.name == "gemini" => &[Queue::Step(0)],
            true => &[Queue::Step(0), Queue::DualPi2],
            false => &[Queue::DropTail, Queue::Codel, Queue::Pie, Queue::FqCodel, Queue::DualPi2],
        }
    }

    /// A control as a scenario names it, with marks where the path has some.
    pub(super) fn written(&self, name: &str) -> String {
        match (self.is_marked, name) {
            (true, "cubic" | "reno") => format!("{{ {name} = {{ ecn = true }} }}"),
            _ => format!("{{ {name} = {{}} }}"),
        }
    }
}

fn known() -> String {
    format!("known: {}", Control::names().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_that_one_path_of_streams_cannot_show_are_refused_with_the_reason() {
        let refused = |name| Control::find(name).unwrap_err().to_string();
        assert!(refused("bbr4").starts_with("unknown congestion control \"bbr4\"\n  did you mean \"bbr"));
        assert!(refused("hpcc").starts_with("hpcc needs RDMA"));
        assert!(refused("rackcc").starts_with("rackcc needs a rack"));
        assert!(refused("annulus").starts_with("annulus is no control by itself"));
    }

    #[test]
    fn nothing_is_its_own_reference() {
        for name in Control::names() {
            let control = Control::find(name).unwrap();
            assert!(control.references().count() >= 3 && control.references().all(|other| other != name));
        }
    }
}
