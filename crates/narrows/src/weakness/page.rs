//! The page of a search.

use serde::Serialize;

use super::case::{Case, Curves};
use super::found::Found;
use super::objective::Objective;
use crate::report::fill_page;

/// Data that the page is drawn from.
#[derive(Serialize)]
struct Page<'a> {
    title: String,
    /// The weakness in a few words.
    summary: &'static str,
    found: &'a Found,
    cases: Vec<PageCase<'a>>,
}

#[derive(Serialize)]
struct PageCase<'a> {
    #[serde(flatten)]
    case: &'a Case,
    best: Option<&'a str>,
    curves: &'a Curves,
    text: &'a str,
}

/// The page of a search, one file that loads nothing.
pub(super) fn page(found: &Found) -> String {
    let summary = Objective::ALL.into_iter().find(|objective| objective.name() == found.objective);
    let title = format!("{} · {}", found.control, found.objective);
    let page = Page {
        summary: summary.map_or("", Objective::summary),
        found,
        cases: found.cases.iter().map(PageCase::new).collect(),
        title: title.clone(),
    };
    fill_page(&title, &[include_str!("../../assets/weakness.js")], &page)
}

impl<'a> PageCase<'a> {
    fn new(case: &'a Case) -> Self {
        let best = case.best().map(|best| best.control.as_str());
        Self { case, best, curves: &case.curves, text: &case.text }
    }
}
