//! Which quantities and experiments claims, tables and charts are taken of.

use std::collections::BTreeSet;

use super::{Curve, Experiment, Figure, Sweep, Table, experiment_of};

/// Quantities that some experiments measure.
pub(super) struct Available<'a> {
    experiments: BTreeSet<&'a str>,
    /// Sweeps of which every point is measured.
    sweeps: BTreeSet<&'a str>,
}

impl<'a> Available<'a> {
    pub(super) fn of(experiments: &'a [Experiment], sweeps: &'a [Sweep]) -> Self {
        let experiments: BTreeSet<&str> = experiments.iter().map(|each| each.name.as_str()).collect();
        let is_run = |(_, quantity): &(f64, String)| experiments.contains(experiment_of(quantity));
        let whole = |sweep: &&Sweep| sweep.points.iter().all(is_run);
        let sweeps = sweeps.iter().filter(whole).map(|sweep| sweep.name.as_str()).collect();
        Self { experiments, sweeps }
    }

    pub(super) fn has(&self, quantity: &str) -> bool {
        self.sweeps.contains(quantity) || self.experiments.contains(experiment_of(quantity))
    }
}

/// The quantities and curves that these follow from, and the tables and charts of figures.
pub(super) fn needed<'a>(
    named: impl Iterator<Item = &'a str>,
    figures: &'a [Figure],
    sweeps: &'a [Sweep],
) -> BTreeSet<String> {
    let curves = figures.iter().flat_map(|figure| &figure.charts).flat_map(|chart| &chart.curves);
    let cells = figures.iter().flat_map(|figure| &figure.tables).flat_map(Table::quantities);
    let named = named.chain(curves.flat_map(Curve::sources)).map(str::to_owned);
    let named: BTreeSet<String> = named.chain(cells).collect();
    named.iter().flat_map(|quantity| sources(sweeps, quantity)).map(str::to_owned).collect()
}

/// The quantities that one follows from: those of a sweep, or itself.
pub(super) fn sources<'a>(sweeps: &'a [Sweep], quantity: &'a str) -> impl Iterator<Item = &'a str> {
    let sweep = sweeps.iter().find(|sweep| sweep.name == quantity);
    let points = sweep.into_iter().flat_map(|sweep| &sweep.points).map(|(_, quantity)| quantity.as_str());
    points.chain(std::iter::once(quantity).filter(move |_| sweep.is_none()))
}
