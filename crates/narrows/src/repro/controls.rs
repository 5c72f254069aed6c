//! A paper with another congestion control.

use std::collections::BTreeSet;

use super::{Paper, experiment_of};
use crate::diagnostic::{Checked, Code, Diagnostic};

impl Paper {
    /// The paper with this control, of which only what any control has is judged: rates, queues, losses. Experiments that have a control
    /// of their own are left out, and so are claims about the inside of one.
    ///
    /// # Errors
    /// If its experiments are about one control.
    pub fn under(&self, control: &str) -> Checked<Self> {
        let Some(path) = &self.controls else {
            let message = format!("the experiments of {} have controls of their own", self.name);
            let help = "leave out --cc; a paper says with `controls` where another one may stand";
            return Err(Diagnostic::error(Code::Conflict, message).help(help).into());
        };
        let mut paper = self.clone();
        let has_own = |change: &String| change.starts_with(&format!("{path}="));
        paper.experiments.retain(|experiment| !experiment.overrides.iter().any(has_own));
        for experiment in &mut paper.experiments {
            experiment.overrides.push(format!("{path}={{ {control} = {{}} }}"));
        }
        let of_any = |quantity: &str| {
            let experiment = paper.experiments.iter().find(|each| each.name == experiment_of(quantity));
            let column = quantity.rsplit('.').next().unwrap_or_default();
            experiment.is_some_and(|each| !each.measure.is_of_model(column))
        };
        paper.claims.retain(|claim| claim.quantities().all(of_any));
        let claimed: BTreeSet<_> = paper.claims.iter().map(|claim| claim.figure.as_str()).collect();
        paper.figures.retain(|figure| claimed.contains(figure.name.as_str()));
        paper.parameters.clear();
        paper.name = format!("{}-{control}", self.name);
        Ok(paper)
    }
}
