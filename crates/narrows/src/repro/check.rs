//! Tests of what holds for every paper, and of a small one.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use narrows_proto::units::Bytes;

use super::*;
use crate::run::{Options, run_all};
use crate::statistics::Estimate;

/// All papers, and the one for tests.
fn all_papers() -> impl Iterator<Item = Paper> {
    papers().chain([tiny::paper()])
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) {
    let mut seen = BTreeSet::new();
    names.for_each(|name| assert!(seen.insert(name), "there are two of {name}"));
}

/// All `group.row.column` of quantities, and of series.
fn declared(experiments: &[Experiment]) -> [BTreeSet<String>; 2] {
    let all = |of: fn(&Experiment) -> &[String]| {
        let named = |each: &Experiment| -> Vec<_> {
            of(each).iter().map(|column| format!("{}.{column}", each.name)).collect()
        };
        experiments.iter().flat_map(named).collect()
    };
    [all(|each| &each.quantities), all(|each| &each.series)]
}

#[test]
fn names_are_unique() {
    unique(names());
    assert!(names().eq(papers().map(|paper| paper.name)));
    for paper in all_papers() {
        unique(paper.claims.iter().map(|claim| claim.id.as_str()));
        unique(paper.figures.iter().map(|figure| figure.name.as_str()));
        unique(paper.experiments.iter().map(|experiment| experiment.name.as_str()));
        unique(paper.parameters.iter().map(|parameter| parameter.name.as_str()));
    }
}

#[test]
fn whatever_is_named_exists_and_whatever_is_measured_is_used() {
    for paper in all_papers() {
        let (figures, experiments) = (&paper.figures, &paper.experiments);
        let [mut quantities, series] = declared(experiments);
        quantities.extend(paper.sweeps.iter().map(|sweep| sweep.name.clone()));
        let known = |name: &str, names: &BTreeSet<String>| {
            assert!(names.contains(name) && parts(name).is_some(), "{}: nothing measures {name}", paper.name);
        };
        let mut used: BTreeSet<String> = BTreeSet::new();
        for claim in &paper.claims {
            claim.quantities().for_each(|quantity| known(quantity, &quantities));
            let there = figures.iter().any(|figure| figure.name == claim.figure);
            assert!(there, "{}: {} belongs to no figure", paper.name, claim.id);
            used.extend(claim.quantities().map(|quantity| experiment_of(quantity).to_owned()));
        }
        for curve in figures.iter().flat_map(|figure| &figure.charts).flat_map(|chart| &chart.curves) {
            let sweep = matches!(curve.points, Points::Sweep(_));
            let sources = curve.sources();
            sources.iter().for_each(|source| known(source, if sweep { &quantities } else { &series }));
            used.extend(sources.into_iter().map(|source| experiment_of(source).to_owned()));
        }
        for watched in paper.parameters.iter().flat_map(|parameter| &parameter.watched) {
            known(watched, &quantities);
            used.insert(experiment_of(watched).to_owned());
        }
        let cells = figures.iter().flat_map(|figure| &figure.tables).flat_map(Table::quantities);
        used.extend(cells.map(|quantity| experiment_of(&quantity).to_owned()));
        for experiment in experiments {
            assert!(used.contains(&experiment.name), "{}: nothing needs {}", paper.name, experiment.name);
        }
    }
}

#[test]
fn what_an_explanation_takes_from_another_value_of_a_parameter_is_run_with_it() {
    for paper in papers() {
        let tests: Vec<_> = paper.claims.iter().flat_map(Claim::tests).collect();
        for Term { quantity, varied } in tests.iter().flat_map(Place::terms) {
            let Some((name, _)) = varied else { continue };
            let parameter = paper.parameters.iter().find(|parameter| parameter.name == *name).unwrap();
            assert!(parameter.repeated().contains(experiment_of(quantity)), "{quantity} with another {name}");
        }
    }
}

#[test]
fn every_row_and_column_of_a_table_has_a_claim_or_is_measured() {
    for paper in all_papers() {
        let claims = &paper.claims;
        for figure in &paper.figures {
            let of_figure = claims.iter().filter(|claim| claim.figure == figure.name);
            let named: BTreeSet<_> = of_figure.filter_map(|claim| parts(&claim.quantity)).collect();
            for table in &figure.tables {
                let own: Vec<_> = named.iter().filter(|(group, ..)| *group == table.group).collect();
                let is_run = |row: &str| {
                    let name = format!("{}.{row}", table.group);
                    paper.experiments.iter().any(|experiment| experiment.name == name)
                };
                for (row, _) in &table.rows {
                    let named = own.iter().any(|each| each.1 == row);
                    assert!(named || is_run(row), "{}: {row}", figure.name);
                }
                let is_measured = |column: &String| {
                    let of_row = |row: &str| format!("{}.{row}", table.group);
                    table.rows.iter().any(|(row, _)| {
                        let experiments = &paper.experiments;
                        let found = experiments.iter().find(|experiment| experiment.name == of_row(row));
                        found.is_some_and(|experiment| experiment.quantities.contains(column))
                    })
                };
                for (column, _) in &table.columns {
                    let named = own.iter().any(|each| each.2 == column);
                    assert!(named || is_measured(column), "{}: {column}", figure.name);
                }
            }
        }
    }
}

#[test]
fn every_paper_can_be_planned_in_both_forms_within_the_memory_of_a_common_machine() {
    for paper in all_papers().map(Arc::new) {
        for quick in [false, true] {
            // A seed changes what is drawn, and nothing that a plan may be refused for.
            let request = Request { quick, seeds: Some(1), ..Request::default() };
            let study = Study::new(Arc::clone(&paper), &request)
                .unwrap_or_else(|error| panic!("{}: {error}", paper.name));
            let most = study.runs.iter().map(|run| run.plan.memory(1)).max().unwrap_or_default();
            assert!(most < Bytes::new(6_000_000_000), "{}, quick: {quick}: {most}", paper.name);
        }
    }
}

#[test]
fn every_figure_has_experiments_of_its_paper_and_varies_no_parameter() {
    for paper in all_papers().map(Arc::new) {
        for figure in &paper.figures {
            let request = Request { figure: Some(&figure.name), ..Request::default() };
            let study = Study::select(Arc::clone(&paper), &request)
                .unwrap_or_else(|error| panic!("{}: {error}", paper.name));
            assert!(!study.varies() && !study.experiments.is_empty(), "{}: {}", paper.name, figure.name);
        }
    }
}

fn reproduce(request: Request<'_>) -> Reproduction {
    let mut study = Study::new(tiny::paper(), &request).unwrap();
    let mut measured = Vec::new();
    loop {
        let from = measured.len();
        let plans: Vec<_> = study.runs[from..].iter().map(|run| run.plan.clone()).collect();
        let progress = |_, _| ControlFlow::Continue(());
        let finish = |run: usize, results| study.measure(from + run, &results);
        measured.extend(run_all(&plans, Options::default(), progress, finish).unwrap());
        if !study.extend(&measured).unwrap() {
            return study.conclude(measured);
        }
    }
}

#[test]
fn what_verdicts_need_is_run_stored_and_judged_again() {
    let reproduction = reproduce(Request { figure: Some("1"), ..Request::default() });
    let mut seeds: Vec<_> =
        reproduction.claims().filter_map(|judged| judged.measured).map(|found| found.samples).collect();
    seeds.dedup();
    assert!(!seeds.is_empty() && seeds.iter().all(|seeds| [3, 5, 10].contains(seeds)), "{seeds:?}");
    let stored: Stored = serde_json::from_str(&reproduction.stored.text()).unwrap();
    let again = stored.conclude(Arc::new(tiny::paper())).unwrap();
    assert_eq!(again.markdown(), reproduction.markdown());
    let written = "Written by `narrows repro tiny --figure \"Figure 1\"` (";
    assert!(again.markdown().contains(written), "{}", again.markdown());
}

#[test]
fn a_paper_is_repeated_with_verdicts_intervals_and_sensitivity() {
    let reproduction = reproduce(Request { seeds: Some(3), ..Request::default() });
    let verdicts: Vec<_> =
        reproduction.claims().map(|judged| (judged.claim.id.as_str(), judged.verdict.name())).collect();
    let expected = [
        ("reno-goodput", "match"),
        ("dctcp-goodput", "match"),
        ("reno-queue", "calibrated"),
        ("dctcp-queue", "shape"),
        ("dctcp-drops", "match"),
        ("dctcp-time", "match"),
        ("dctcp-below-reno", "match"),
        ("dctcp-doubles", "miss"),
        ("reno-fills-60", "explained"),
        ("reno-fills-150", "miss"),
        ("dctcp-quarter", "match"),
        ("dctcp-fewer-drops", "match"),
        ("k20-queue", "match"),
        ("k40-queue", "match"),
    ];
    assert_eq!(verdicts, expected);
    let tallies = "12 claims of the paper: 7 match, 1 calibrated, 1 shape, 1 explained, 2 miss; \
                   1 claim of the project itself: 1 match; 1 not counted";
    assert_eq!(reproduction.score().to_string(), tallies);
    assert_eq!(reproduction.errors, Vec::<String>::new());
    let goodput = reproduction.claims().next().and_then(|judged| judged.measured).unwrap();
    assert!(goodput.samples == 3 && goodput.interval.is_some_and(|(low, high)| low <= 95.0 && high < 100.0));

    let [buffer, mtu] = &reproduction.parameters[..] else { panic!("two parameters") };
    let values: Vec<_> = buffer.rows.iter().map(|row| row.value.as_str()).collect();
    let queues: Vec<_> = buffer.rows.iter().map(|row| row.found[0].estimate.unwrap().mean).collect();
    assert_eq!(values, ["100 kB", "60 kB", "200 kB"]);
    assert!(queues[1] < queues[0] && queues[0] < queues[2], "Reno fills any buffer: {queues:?}");
    assert!(mtu.rows.is_empty());

    let [table, over_time, over_k] = &reproduction.figures[..] else { panic!("three figures") };
    assert!(table.charts.is_empty());
    assert_eq!(over_time.charts[0].curves.len(), 2);
    let labels: Vec<_> = over_k.charts[0]
        .curves
        .iter()
        .map(|curve| (curve.label.as_str(), curve.origin == Origin::Paper))
        .collect();
    assert_eq!(labels, [("DCTCP", false), ("DCTCP, paper", true)]);
    assert_eq!(over_k.charts[0].curves[1].points, [(20.0, 24.0), (40.0, 60.0)]);
}

#[test]
fn the_quick_form_leaves_out_and_says_so() {
    let reproduction = reproduce(Request { quick: true, ..Request::default() });
    assert_eq!((reproduction.seeds, reproduction.left_out), (Some(1), 2));
    assert!(reproduction.claims().all(|judged| judged.measured.is_none_or(|each| each.interval.is_none())));
    assert!(reproduction.parameters.iter().all(|outcome| outcome.rows.is_empty()));
    assert_eq!(reproduction.command(), "narrows repro tiny --quick");
    assert_eq!(reproduction.errors, Vec::<String>::new(), "what was left out cannot be shown in notes");
    let request = Request { figure: Some("2"), quick: true, seeds: None };
    let nothing = Study::new(tiny::paper(), &request).unwrap_err().to_string();
    assert!(nothing.contains("the quick form leaves out all of Figure 2"), "{nothing}");
}

#[test]
fn a_figure_runs_only_what_it_needs() {
    let names = |figure| {
        let study =
            Study::new(tiny::paper(), &Request { figure: Some(figure), ..Request::default() }).unwrap();
        let mut names: Vec<_> =
            study.runs.iter().map(|run| run.name[..run.name.len() - 7].to_owned()).collect();
        names.dedup();
        names
    };
    for figure in ["Table 1", "table1", "Figure 1", "1"] {
        assert_eq!(names(figure), ["cc.reno", "cc.dctcp"], "{figure}");
    }
    assert_eq!(names("2"), ["k.20", "k.40"]);
    let request = Request { figure: Some("Tabel 1"), ..Request::default() };
    let unknown = Study::new(tiny::paper(), &request).unwrap_err().to_string();
    let expected =
        "no figure is called \"Tabel 1\"\n  did you mean \"Table 1\"? known: Table 1, Figure 1, Figure 2";
    assert_eq!(unknown, expected);
}

#[test]
fn files_hold_all_claims_and_scenarios_that_run_again() {
    let request = Request { seeds: Some(3), ..Request::default() };
    let reproduction = reproduce(request);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("tiny");
    let output = crate::results::Output::begin(&folder, false).unwrap();
    reproduction.write(&output).unwrap();
    output.finish().unwrap();
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();

    let json: serde_json::Value = serde_json::from_str(&text("claims.json")).unwrap();
    let claims = json["claims"].as_array().unwrap();
    assert_eq!((json["paper"].as_str(), claims.len()), (Some("tiny"), 14));
    let keys: Vec<_> = claims[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "source", "statement", "reported", "measured", "ci", "class", "verdict"]);
    assert_eq!((&claims[5]["reported"], &claims[5]["measured"]), (&"inf".into(), &serde_json::Value::Null));
    assert_eq!((&claims[6]["reported"], &claims[6]["class"]), (&"≤ 0.67×".into(), &"bound".into()));
    assert!(claims[3]["ci"].as_array().is_some_and(|bounds| bounds.len() == 2));
    let details = |claim: &str| json["details"][claim]["range"].as_array().map(Vec::len);
    assert_eq!((details("dctcp-queue"), details("dctcp-time")), (Some(2), None));
    let why = json["details"]["dctcp-doubles"]["explanation"].as_str().unwrap();
    assert!(why.starts_with("Nobody says this: both fill the link, 9") && !why.contains('{'), "{why}");

    let markdown = text("report.md");
    let opening = markdown.split("\n## ").next().unwrap();
    assert!(
        opening.contains("\n- **Not reproduced**: ")
            && opening.contains("DCTCP doubles the goodput (Figure 1; reported "),
        "{opening}"
    );
    let fitted =
        "\n- **Fitted**: one setting was chosen by numbers of the paper, which cannot confirm it: buffer.\n";
    assert!(opening.contains(fitted), "{opening}");
    assert!(opening.contains("\n| Figure 1 | 3 | – | – | – | 1 | 2 |\n"), "{opening}");
    assert!(markdown.contains("| Reno fills the link | §1, row Reno | 95 Mb/s | "), "{markdown}");
    assert!(markdown.contains("- DCTCP doubles the goodput (miss): Nobody says this"), "{markdown}");
    let explained =
        "- Reno fills a buffer of 60 kB (explained): A buffer of 60 kB, as the text has it. There it is ";
    assert!(
        markdown.contains(explained) && markdown.contains("Reno fills the link (reno-goodput): "),
        "{markdown}"
    );
    assert!(markdown.contains("(miss): The explanation fails. A buffer of 200 kB."), "{markdown}");
    assert!(markdown.contains("- Reno fills the buffer (calibrated): chosen by it: buffer.\n"), "{markdown}");
    assert!(
        markdown.contains("\n**1 claim not counted: 1 match.**\n")
            && markdown.contains("not counted: it cannot fail.")
    );
    assert!(markdown.contains("\n| buffer | cc.reno.queue | cc.reno.goodput | cc.dctcp.queue |\n| --- |"));
    assert!(markdown.contains("`narrows repro tiny --seeds 3`"), "{markdown}");
    let page = text("report.html");
    assert!(page.contains("Queues of Reno and &lt;DCTCP&gt;, repeated") && !page.contains("{{"));

    for experiment in tiny::paper().experiments {
        let text = text(&format!("scenarios/{}.toml", experiment.name));
        let plan =
            crate::plan::Plan::new(crate::document::Document::parse("again", text, "").unwrap()).unwrap();
        assert_eq!(plan.scenario.name, format!("tiny-{}", experiment.name.replace('.', "-")));
    }
}

#[test]
fn what_was_measured_is_judged_again_without_a_run() {
    for quick in [false, true] {
        let reproduction = reproduce(Request { seeds: Some(3), quick, ..Request::default() });
        let stored: Stored = serde_json::from_str(&reproduction.stored.text()).unwrap();
        assert_eq!(stored, reproduction.stored);
        let again = stored.conclude(Arc::new(tiny::paper())).unwrap();
        assert_eq!(again.markdown(), reproduction.markdown());
        assert_eq!(again.stored, reproduction.stored);
    }
}

#[test]
fn what_was_measured_otherwise_is_not_judged() {
    let stored = reproduce(Request { quick: true, ..Request::default() }).stored.text();
    let changed = |from: &str, to: &str| {
        let stored: Stored = serde_json::from_str(&stored.replacen(from, to, 1)).unwrap();
        stored.conclude(Arc::new(tiny::paper())).unwrap_err().to_string()
    };
    let sum = stored.split("\"cc.dctcp\": \"").nth(1).and_then(|rest| rest.get(..16)).unwrap();
    let found = changed(sum, "0123456789abcdef");
    assert!(found.contains("the experiment cc.dctcp was as another scenario run"), "{found}");
    let found = changed("cc.reno.drops", "cc.reno.other");
    assert!(found.contains("cc.reno.drops was not measured"), "{found}");
    let found = changed("\"tiny\"", "\"bcn\"");
    assert!(found.contains("these are values of bcn, not of tiny"), "{found}");
}

#[test]
fn only_what_is_named_has_to_be_stored() {
    let paper = || Arc::new(tiny::paper());
    let reproduction = reproduce(Request { seeds: Some(1), ..Request::default() });
    let mut stored = reproduction.stored.clone();
    assert!(
        stored.measured.remove("k.20.time").is_some()
            && stored.varied[0].measured.remove("cc.reno.time").is_some()
    );
    assert_eq!(stored.clone().conclude(paper()).unwrap().markdown(), reproduction.markdown());

    let mut without = stored.clone();
    without.measured.remove("k.20.queue");
    let error = without.conclude(paper()).unwrap_err().to_string();
    assert!(error.contains("k.20.queue was not measured"), "{error}");
    stored.varied[1].measured.remove("cc.reno.queue");
    let error = stored.conclude(paper()).unwrap_err().to_string();
    assert!(error.contains("cc.reno.queue was not measured with \"buffer\" varied to \"200 kB\""), "{error}");
}

#[test]
fn two_seeds_have_their_values_and_no_interval() {
    let reproduction = reproduce(Request { seeds: Some(2), ..Request::default() });
    assert!(reproduction.claims().all(|judged| judged.measured.is_none_or(|each| each.interval.is_none())));
    let queue = reproduction.claims().find(|judged| judged.claim.id == "reno-goodput").unwrap();
    let Estimate { mean, range: (least, most), samples, .. } = queue.measured.unwrap();
    assert!(samples == 2 && least <= mean && mean <= most);
    assert!(!reproduction.claims().any(|judged| judged.measured_text().contains('[')));
}

#[test]
fn the_same_seeds_give_the_same_files() {
    let [first, second] = [1, 2].map(|_| reproduce(Request { quick: true, ..Request::default() }));
    assert_eq!(first.page(), second.page());
    assert_eq!(first.markdown(), second.markdown());
}
