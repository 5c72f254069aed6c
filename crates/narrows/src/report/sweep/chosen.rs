//! Which metrics a page shows, and of which traffic groups.

use super::super::summary::words;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::metrics::{TOTAL, infos_of};
use crate::sweep::{Found, PointSummary, is_shown, usual_metrics};

/// A metric that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    /// Its name, without that of a group.
    pub(super) name: String,
    /// In words.
    pub(super) label: String,
    /// The metric.
    pub(super) meaning: String,
    /// Which direction is good, if any.
    pub(super) lower_is_better: Option<bool>,
    /// Whose it is shown: groups that have it, all traffic only if no group does, or it was requested.
    pub(super) groups: Vec<String>,
}

impl Chosen {
    fn new(name: &str, groups: Vec<String>) -> Self {
        let known = words(name);
        let info = infos_of(name).next();
        Self {
            name: name.to_owned(),
            label: known.map_or(name, |(words, _)| words).to_owned(),
            meaning: info
                .map_or_else(String::new, |info| format!("{} Over {}.", info.meaning, info.over.text())),
            lower_is_better: known.and_then(|(_, lower_is_better)| lower_is_better),
            groups,
        }
    }

    /// The name that it has in the data set.
    pub(super) fn of(&self, group: &str) -> String {
        format!("{group}.{}", self.name)
    }
}

/// A group as it is called on a page.
pub(super) fn spoken(group: &str) -> &str {
    if group == TOTAL { "all traffic" } else { group }
}

/// The metrics that a page of a sweep shows: those of `wanted`, or those that its file names, as far as some cell has them.
///
/// # Errors
/// As [`choose`].
pub(super) fn chosen(found: &Found, wanted: &[String]) -> Checked<Vec<Chosen>> {
    let Found { manifest, points, .. } = found;
    let rule = manifest.until.as_ref().map(|until| until.metric.as_str());
    if !wanted.is_empty() {
        return choose(points, rule, wanted);
    }
    let there = |pattern: &&String| {
        points.iter().flat_map(|point| &point.metrics).any(|(name, _)| is_shown(pattern, name))
    };
    let own: Vec<_> = manifest.written.metrics.iter().filter(there).cloned().collect();
    choose(points, rule, &own)
}

/// The metrics of these names, in which `*` stands for any characters; a name without a group stands for that metric of all groups.
/// Without names those that say most, that of the rule in front. Where something has not ended that is said in any case, as times
/// leave it out.
///
/// # Errors
/// If no metric has one of the names.
pub(super) fn choose(points: &[PointSummary], rule: Option<&str>, wanted: &[String]) -> Checked<Vec<Chosen>> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for name in points.iter().flat_map(|point| &point.metrics).map(|(name, _)| name.as_str()) {
        if seen.insert(name) {
            all.extend(name.split_once('.'));
        }
    }
    let groups_of = |metric: &str| {
        let of_metric =
            || all.iter().filter(|(_, other)| *other == metric).map(|(group, _)| (*group).to_owned());
        let own: Vec<String> = of_metric().filter(|group| group != TOTAL).collect();
        if own.is_empty() { of_metric().collect() } else { own }
    };
    if wanted.is_empty() {
        let usual = usual_metrics(points, rule);
        return Ok(usual.iter().map(|metric| Chosen::new(metric, groups_of(metric))).collect());
    }
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut add =
        |metric: &str, groups: Vec<String>| match chosen.iter_mut().find(|known| known.name == metric) {
            None => chosen.push(Chosen::new(metric, groups)),
            Some(known) => {
                for group in groups {
                    if !known.groups.contains(&group) {
                        known.groups.push(group);
                    }
                }
            }
        };
    for pattern in wanted {
        let mut found = false;
        for (group, metric) in &all {
            if is_shown(pattern, &format!("{group}.{metric}")) {
                let one = pattern.contains('.');
                add(metric, if one { vec![(*group).to_owned()] } else { groups_of(metric) });
                found = true;
            }
        }
        if !found {
            return Err(unknown(pattern, &all).into());
        }
    }
    let shown: Vec<String> = chosen.iter().flat_map(|metric| metric.groups.clone()).collect();
    let unfinished = ["unfinished", "unfinished_rpcs"].into_iter().filter_map(|metric| {
        let happened = |group: &String| {
            let name = format!("{group}.{metric}");
            let mut found = points.iter().filter_map(|point| point.metric(&name));
            shown.contains(group) && found.any(|found| found.range.1 > 0.0)
        };
        let groups: Vec<_> = groups_of(metric).into_iter().filter(happened).collect();
        let is_new = chosen.iter().all(|known| known.name != metric);
        (is_new && !groups.is_empty()).then(|| Chosen::new(metric, groups))
    });
    let unfinished: Vec<_> = unfinished.collect();
    chosen.extend(unfinished);
    Ok(chosen)
}

fn unknown(pattern: &str, all: &[(&str, &str)]) -> Diagnostic {
    let with_group = pattern.contains('.');
    let mut known: Vec<String> = Vec::new();
    for (group, metric) in all {
        let name = if with_group { format!("{group}.{metric}") } else { (*metric).to_owned() };
        if !known.contains(&name) {
            known.push(name);
        }
    }
    let message = format!("the sweep has no metric \"{pattern}\"");
    Diagnostic::error(Code::UnknownName, message).known(pattern, known.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::made_up;

    const NAMES: [&str; 6] = [
        "web.p99_slowdown",
        "web.goodput_gbps",
        "dc.p99_slowdown",
        "total.p99_slowdown",
        "total.drops",
        "total.timeouts",
    ];

    fn chosen(wanted: &[&str]) -> Checked<Vec<(String, Vec<String>)>> {
        let found = made_up(&[], &[(Vec::new(), NAMES.map(|name| (name, vec![3.0])).to_vec())]);
        let wanted: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let chosen = choose(&found.points, None, &wanted)?;
        Ok(chosen.into_iter().map(|metric| (metric.name, metric.groups)).collect())
    }

    fn shape(found: &[(String, Vec<String>)]) -> Vec<(&str, Vec<&str>)> {
        found.iter().map(|(name, of)| (name.as_str(), of.iter().map(String::as_str).collect())).collect()
    }

    #[test]
    fn usual_metrics_are_those_of_groups_and_of_all_traffic_where_no_group_has_them() {
        let found = chosen(&[]).unwrap();
        let expected =
            [("p99_slowdown", vec!["web", "dc"]), ("goodput_gbps", vec!["web"]), ("drops", vec!["total"])];
        assert_eq!(shape(&found), expected);
    }

    #[test]
    fn a_metric_is_chosen_by_its_name_with_or_without_a_group_or_by_a_pattern() {
        assert_eq!(shape(&chosen(&["p99_slowdown"]).unwrap()), [("p99_slowdown", vec!["web", "dc"])]);
        assert_eq!(shape(&chosen(&["total.p99_slowdown"]).unwrap()), [("p99_slowdown", vec!["total"])]);
        assert_eq!(
            shape(&chosen(&["*.timeouts", "d*.p99*"]).unwrap()),
            [("timeouts", vec!["total"]), ("p99_slowdown", vec!["dc"])]
        );
        assert_eq!(shape(&chosen(&["*put*"]).unwrap()), [("goodput_gbps", vec!["web"])]);
    }

    #[test]
    fn what_has_not_finished_is_shown_beside_whatever_was_chosen() {
        let names = |unfinished: f64| {
            let metrics = vec![
                ("web.p99_slowdown", vec![3.0]),
                ("web.unfinished", vec![unfinished]),
                ("dc.p99_slowdown", vec![3.0]),
                ("dc.unfinished", vec![0.0]),
            ];
            let found = made_up(&[], &[(Vec::new(), metrics)]);
            let chosen = choose(&found.points, None, &["p99_slowdown".to_owned()]).unwrap();
            chosen.into_iter().map(|metric| (metric.name, metric.groups.join(" "))).collect::<Vec<_>>()
        };
        let slowdown = ("p99_slowdown".to_owned(), "web dc".to_owned());
        assert_eq!(names(0.0), std::slice::from_ref(&slowdown));
        assert_eq!(names(2.0), [slowdown, ("unfinished".to_owned(), "web".to_owned())]);
    }

    #[test]
    fn a_name_that_nothing_has_is_refused_with_the_nearest() {
        let help = |name: &str| chosen(&[name]).unwrap_err().0[0].help.clone().unwrap();
        assert!(help("p99_slowdwon").contains("did you mean \"p99_slowdown\""));
        assert!(help("web.goodput").contains("did you mean \"web.goodput_gbps\""));
    }

    #[test]
    fn a_sweep_names_the_metrics_of_its_page_and_a_request_is_above_that() {
        let mut found = made_up(&[], &[(Vec::new(), NAMES.map(|name| (name, vec![3.0])).to_vec())]);
        // The last is of cells that are still missing.
        found.manifest.written.metrics = ["total.timeouts", "drops", "voice.*"].map(str::to_owned).into();
        let names = |wanted: &[&str]| {
            let wanted: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
            super::chosen(&found, &wanted).unwrap().into_iter().map(|metric| metric.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["timeouts", "drops"]);
        assert_eq!(names(&["goodput_gbps"]), ["goodput_gbps"]);
    }

    #[test]
    fn labels_are_those_of_other_reports() {
        let metric = Chosen::new("p99_slowdown", Vec::new());
        assert_eq!((metric.label.as_str(), metric.lower_is_better), ("slowdown p99", Some(true)));
        assert!(metric.meaning.starts_with("Slowdown, 99th"));
        assert_eq!(Chosen::new("p95_slowdown", Vec::new()).label, "p95_slowdown");
    }
}
