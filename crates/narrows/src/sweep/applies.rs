//! Changes of a setting that a point does not have: of a congestion control, where it has another; of what it switches off.

use std::collections::HashSet;

use narrows_proto::cc::registry;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::Value;

use super::Sweep;
use super::change::Change;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::document::Document;

/// A change that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    path: String,
    why: Why,
}

/// Why a change is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// The traffic has another control: the group, as the path names it, and its control.
    Control(String, String),
    /// Something is off: at this path.
    Off(String),
}

impl LeftOut {
    pub(super) fn warning(&self) -> Diagnostic {
        let why = match &self.why {
            Why::Control(group, control) => format!("traffic \"{group}\" is under {control}"),
            Why::Off(path) => format!("{path} is off"),
        };
        let message = format!("{} is left out where {why}", self.path);
        let help = "points that differ in nothing else are one point";
        Diagnostic::warning(Code::LeftOut, message).help(help)
    }
}

/// The scenario of a combination of steps.
pub(super) struct Made {
    pub(super) document: Document,
    pub(super) left_out: Vec<LeftOut>,
    /// By axis: all changes of its step are left out.
    pub(super) is_void: Vec<bool>,
}

impl Change {
    /// The path of a setting of one control: `traffic.GROUP.cc.CONTROL.SETTING`.
    fn of_control(&self) -> Option<Vec<&str>> {
        let segments: Vec<_> = self.path().split('.').map(str::trim).collect();
        let is_setting = segments.len() > 3 && segments[0] == "traffic" && segments[2] == "cc";
        is_setting.then_some(segments)
    }

    /// It, if it changes something within what one of these changes switches off.
    fn within(&self, off: &[&Self]) -> Option<LeftOut> {
        let is_within = |off: &&&Self| {
            self.path().strip_prefix(off.path()).is_some_and(|rest| rest.trim_start().starts_with('.'))
        };
        let why = Why::Off(off.iter().find(is_within)?.path().to_owned());
        Some(LeftOut { path: self.path().to_owned(), why })
    }

    /// It, if the traffic of the document has another control than the one whose setting this is.
    fn left_out(&self, document: &Document) -> Option<LeftOut> {
        let segments = self.of_control()?;
        let mut name = 3;
        loop {
            let control = *segments.get(name)?;
            let there = document.keys(&segments[..name].join("."))?;
            if !there.iter().any(|key| key == control) {
                let is_known = registry::NAMES.contains(&control);
                let other = there.into_iter().next().filter(|_| is_known)?;
                let why = Why::Control(segments[1].to_owned(), other);
                return Some(LeftOut { path: self.path().to_owned(), why });
            }
            // The control in a near-source loop.
            let within = ["annulus", "end_to_end"];
            if segments[name..].get(..2) != Some(&within) {
                return None;
            }
            name += within.len();
        }
    }
}

impl Sweep {
    /// The scenario of a combination. Of the changes of axes those of whole tables come before those of values in them, so that it does
    /// not matter in which order axes choose a control and set it up.
    pub(super) fn make(&self, combination: usize) -> Checked<Made> {
        // What is set for all comes first, so that a point may differ; what was set later, on the command line, comes last.
        let (first, last): (Vec<_>, Vec<_>) = self.set.iter().partition(|change| !change.is_last());
        let steps = self.axes.iter().zip(self.steps_of(combination)).enumerate();
        let chosen = steps.flat_map(|(number, (axis, step))| {
            axis.steps[step].changes.iter().map(move |change| (Some(number), change))
        });
        let mut chosen: Vec<_> = chosen.collect();
        chosen.sort_by_key(|(_, change)| change.path().matches('.').count());
        let steps = self.axes.iter().zip(self.steps_of(combination));
        let changes_something = steps.map(|(axis, step)| !axis.steps[step].changes.is_empty()).collect();
        let mut made = Made { document: self.base.clone(), left_out: Vec::new(), is_void: changes_something };
        let none = |change| (None, change);
        let mut off = Vec::new();
        for (axis, change) in first.into_iter().map(none).chain(chosen).chain(last.into_iter().map(none)) {
            if let Some(left_out) = change.within(&off).or_else(|| change.left_out(&made.document)) {
                made.left_out.push(left_out);
                continue;
            }
            if let Some(axis) = axis {
                made.is_void[axis] = false;
            }
            off.retain(|other: &&Change| other.path() != change.path());
            if change.is_off() {
                off.push(change);
            }
            change.apply(&mut made.document)?;
        }
        Ok(made)
    }

    /// Its value on each axis; null where all that the axis changes is left out.
    pub(super) fn values(&self, combination: usize, is_void: &[bool]) -> Vec<Value> {
        let steps = self.axes.iter().zip(self.steps_of(combination)).zip(is_void);
        steps
            .map(|((axis, step), void)| if *void { Value::Null } else { axis.steps[step].value.clone() })
            .collect()
    }

    /// The combinations that differ in something that is not left out, in order; none if that is all of them.
    pub(super) fn different(&self) -> Option<&[usize]> {
        let find = || {
            let axes = self.axes.iter().flat_map(|axis| &axis.steps).flat_map(|step| &step.changes);
            let may_leave_out = |change: &Change| change.of_control().is_some() || change.is_off();
            if !self.set.iter().chain(axes).any(may_leave_out) {
                return None;
            }
            let key = |combination: usize| {
                let is_void =
                    self.make(combination).map_or_else(|_| vec![false; self.axes.len()], |made| made.is_void);
                self.values(combination, &is_void).iter().map(Value::to_string).collect::<Vec<_>>()
            };
            let keys: Vec<_> = (0..self.combinations() as usize).into_par_iter().map(key).collect();
            let mut seen = HashSet::new();
            let new =
                keys.into_iter().enumerate().filter_map(|(number, key)| seen.insert(key).then_some(number));
            Some(new.collect())
        };
        self.different.get_or_init(find).as_deref()
    }
}
