//! The page of a sweep: what was swept, which differences the runs support, a figure for each metric, the table, the cells.

mod apart;
mod axes;
mod chosen;
mod differences;
mod figures;
mod matrix;
mod sentence;
mod table;

use serde::Serialize;

use self::axes::{Axes, Axis};
use self::chosen::chosen;
use self::differences::{Differences, differences};
use self::figures::{Figures, Roles, figures};
pub use self::matrix::{Matrix, MatrixCell, Quantity};
use self::table::{Table, table};
use super::fill_page;
use super::warnings::{Kind, of_a_kind};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::sweep::{Absent, Found, Manifest, Row};

/// More warnings than this are counted.
const WARNINGS: usize = 5;
/// More values of an axis than this are counted in the header.
const VALUES: usize = 16;

/// Choices for the page of a sweep.
#[derive(Clone, Debug, Default)]
pub struct SweepOptions {
    /// Metrics, in which `*` stands for any characters; those that the sweep names, or that say most, if there are none.
    pub metrics: Vec<String>,
    /// The axis that makes the lines of figures, by its name or last key.
    pub by: Option<String>,
    /// The page is in the folder of the sweep, so that it can refer to cells.
    pub is_inside: bool,
    /// So is a page of each cell in the folder of that.
    pub has_pages: bool,
}

/// Data that the page is drawn from.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    engine: &'a str,
    /// Points and seeds.
    size: String,
    axes: Vec<AxisText<'a>>,
    /// Numbers of cells: in the sweep, finished, failed.
    cells: [usize; 3],
    warnings: Vec<String>,
    /// Changes for all points.
    set: &'a [String],
    /// Before these; empty if it is not known.
    scenario: &'a str,
    matrix: Option<Matrix>,
    differences: Differences,
    figures: Option<Figures>,
    table: Table,
    failed: Vec<FailedCell<'a>>,
    missing: Vec<CellText<'a>>,
    there: Vec<CellText<'a>>,
    is_inside: bool,
    has_pages: bool,
}

#[derive(Serialize)]
struct AxisText<'a> {
    name: &'a str,
    values: Vec<String>,
    /// Values that are not listed.
    more: usize,
}

#[derive(Serialize)]
struct CellText<'a> {
    point: String,
    seed: u64,
    id: &'a str,
}

#[derive(Serialize)]
struct FailedCell<'a> {
    #[serde(flatten)]
    cell: CellText<'a>,
    reason: &'a str,
}

/// The page of a sweep, which may be unfinished.
///
/// # Errors
/// If there is no metric or axis of a name, or no axis is left to go across.
pub fn sweep_page(found: &Found, options: &SweepOptions) -> Checked<String> {
    let Found { manifest, cells, absent, warnings, .. } = found;
    let axes = Axes::of(found);
    let by = options.by.as_ref().map(|name| axes.find(name)).transpose()?;
    let roles = Roles::of(&axes, by);
    if let (Some(by), None) = (by, roles) {
        return Err(alone(&axes.axes[by]).into());
    }
    let chosen = chosen(found, &options.metrics)?;
    let across = roles.map_or_else(Vec::new, |roles| roles.order(&axes));
    let failed = absent.iter().filter_map(|Absent { cell, reason }| {
        Some(FailedCell { cell: CellText::new(manifest, cell), reason: reason.as_deref()? })
    });
    let failed: Vec<_> = failed.collect();
    let missing = absent.iter().filter(|absent| absent.reason.is_none());
    let page = Page {
        title: &manifest.name,
        engine: &manifest.engine,
        size: manifest.size(),
        axes: axis_texts(manifest),
        cells: [cells.len() + absent.len(), cells.len(), failed.len()],
        warnings: sweep_warnings(manifest, warnings),
        set: &manifest.written.set,
        scenario: &manifest.written.scenario,
        matrix: Matrix::of(found, &axes, &chosen),
        differences: differences(found, &axes, &chosen, &across),
        figures: roles.map(|roles| figures(found, &axes, &chosen, roles)),
        table: table(found, &axes, &chosen),
        failed,
        missing: missing.map(|absent| CellText::new(manifest, &absent.cell)).collect(),
        there: cells.iter().map(|cell| CellText::new(manifest, cell)).collect(),
        is_inside: options.is_inside,
        has_pages: options.has_pages,
    };
    Ok(fill_page(&manifest.name, &[include_str!("../../../assets/sweep.js")], &page))
}

/// The matrix that the page of a sweep shows; none unless two axes vary and both have names.
///
/// # Errors
/// If the sweep has no metrics.
pub fn sweep_matrix(found: &Found) -> Checked<Option<Matrix>> {
    Ok(Matrix::of(found, &Axes::of(found), &chosen(found, &[])?))
}

impl<'a> CellText<'a> {
    fn new(manifest: &Manifest, cell: &'a Row) -> Self {
        Self { point: manifest.short(cell.point), seed: cell.seed, id: &cell.id }
    }
}

fn alone(axis: &Axis) -> Diagnostic {
    let message = format!("lines by \"{}\" leave no axis to go across: no other one varies", axis.short);
    Diagnostic::error(Code::Conflict, message).help("without --by it goes across itself")
}

/// All axes with their values, those of points without cells included.
fn axis_texts(manifest: &Manifest) -> Vec<AxisText<'_>> {
    let mut texts = Vec::new();
    for (number, name) in manifest.axes.iter().enumerate() {
        let values: Vec<_> = manifest.points.iter().map(|point| &point.values[number]).collect();
        let mut values = Axis::new(name, name.clone(), &values).0.values;
        let more = values.len().saturating_sub(VALUES);
        values.truncate(VALUES);
        texts.push(AxisText { name, values, more });
    }
    texts
}

/// The first kinds of warnings of runs, each with the number of its point, and how many more there are.
pub fn sweep_warnings(manifest: &Manifest, warnings: &[(usize, String)]) -> Vec<String> {
    let kinds = of_a_kind(warnings.iter().map(|(point, text)| (*point, text.as_str())));
    let more = kinds.len().saturating_sub(WARNINGS);
    let text =
        |kind: &Kind<'_, usize>| kind.text(manifest.points.len(), "points", |point| manifest.short(*point));
    let mut kinds: Vec<_> = kinds.iter().take(WARNINGS).map(text).collect();
    kinds.extend((more > 0).then(|| format!("and {more} more; run.json of each cell has its own")));
    kinds
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sweep::made_up;

    fn found() -> Found {
        let point = |k: &str, slowdown: f64| (vec![json!(k)], vec![("web.p99_slowdown", vec![slowdown; 3])]);
        made_up(&["a.k"], &[point("20 kB", 12.0), point("40 kB", 4.0)])
    }

    #[test]
    fn a_page_is_the_same_bytes_each_time_and_loads_nothing() {
        let page = || sweep_page(&found(), &SweepOptions::default()).unwrap();
        assert_eq!(page(), page());
        assert!(page().contains("falls from 12 at k = 20 kB to 4 at k = 40 kB"));
        assert!(!page().contains("src=") && !page().contains("{{"));
    }

    #[test]
    fn failed_and_missing_cells_are_on_the_page() {
        let mut found = found();
        let absent = |seed, reason: Option<&str>| Absent {
            cell: Row { point: 0, seed, id: format!("id{seed}") },
            reason: reason.map(str::to_owned),
        };
        found.absent = vec![absent(4, Some("backlog 7 of <5>")), absent(5, None)];
        let page = sweep_page(&found, &SweepOptions::default()).unwrap();
        assert!(page.contains(r#""cells":[8,6,1]"#));
        assert!(
            page.contains(r#"{"point":"k = 20 kB","seed":4,"id":"id4","reason":"backlog 7 of \u003c5>"}"#)
        );
        assert!(page.contains(r#""missing":[{"point":"k = 20 kB","seed":5,"id":"id5"}]"#));
    }

    #[test]
    fn an_axis_alone_cannot_make_lines() {
        let options = SweepOptions { by: Some("k".into()), ..SweepOptions::default() };
        assert!(
            sweep_page(&found(), &options).unwrap_err().to_string().contains("leave no axis to go across")
        );
    }
}
