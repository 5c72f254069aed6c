use super::super::{Request, Study};
use super::*;

const PAPER_TOML: &str = include_str!("../../../repro/new/paper.toml");
const CLAIMS_TOML: &str = include_str!("../../../repro/new/claims.toml");
const SCENARIO: &str = include_str!("../../../repro/new/two-flows.toml");

fn read(paper: &str, claims: &str) -> Checked<Paper> {
    let texts = [("paper.toml", paper), ("claims.toml", claims), ("two-flows.toml", SCENARIO)];
    Paper::of(&Files::of_texts("p", texts))
}

/// Error of the example with one change.
#[track_caller]
fn refused(from: &str, to: &str) -> String {
    assert!(PAPER_TOML.contains(from), "{from}");
    read(&PAPER_TOML.replacen(from, to, 1), CLAIMS_TOML).expect_err("refused").to_string()
}

#[test]
fn a_grid_gives_an_experiment_for_each_entry_with_what_its_placeholders_stand_for() {
    let paper = read(PAPER_TOML, CLAIMS_TOML).unwrap();
    let names: Vec<_> = paper.experiments.iter().map(|each| each.name.as_str()).collect();
    let expected = [
        "control.reno",
        "control.dctcp",
        "threshold.k15",
        "threshold.k30",
        "threshold.k60",
        "threshold.k120",
    ];
    assert_eq!(names, expected);
    assert_eq!(paper.experiments[4].overrides, ["switches.default.marking.step.k=60 kB"]);
    assert_eq!(paper.experiments[0].overrides.len(), 2);
    assert_eq!(paper.experiments[0].quick, Some(vec!["stop.after=200 ms".to_owned()]));
    assert_eq!(paper.experiments[0].quantities, ["goodput_mbps", "queue_kb"]);
}

#[test]
fn the_outermost_variable_runs_slowest_and_the_short_form_keeps_what_it_names() {
    let grid = "for = [{ cc = \"controls\" }, { k = [1, 2] }]";
    let text = PAPER_TOML
        .replacen(
            "name = \"control.{cc}\"\nfor = { cc = \"controls\" }",
            &format!("name = \"two.{{cc}}_{{k}}\"\n{grid}"),
            1,
        )
        .replacen("quick = { set", "quick = { only = { k = [2] }, set", 1);
    let error = read(&text, CLAIMS_TOML).unwrap_err().to_string();
    assert!(error.contains("nothing measures"), "{error}");
    let text = text.replace("control.reno.", "two.reno_1.").replace("control.dctcp.", "two.dctcp_2.");
    let text = text.replace(
        "group = \"control\", rows = \"controls\"",
        "group = \"two\", rows = [\"reno_1\", \"reno_2\", \"dctcp_1\"]",
    );
    let claims =
        CLAIMS_TOML.replace("control.reno.", "two.reno_1.").replace("control.dctcp.", "two.dctcp_2.");
    let paper = read(&text, &claims).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<_> =
        paper.experiments.iter().map(|each| (each.name.as_str(), each.quick.is_some())).take(4).collect();
    assert_eq!(
        names,
        [("two.reno_1", false), ("two.reno_2", true), ("two.dctcp_1", false), ("two.dctcp_2", true)]
    );
}

#[test]
fn an_experiment_takes_the_quantities_of_all_its_measures() {
    let text = PAPER_TOML.replacen("measure = \"bottleneck\"", "measure = [\"bottleneck\", \"losses\"]", 1);
    let losses = "[measure.losses.quantities]\ndrops = { metric = \"total.drops\" }\n";
    let text =
        text.replacen("[measure.bottleneck.series]", &format!("{losses}\n[measure.bottleneck.series]"), 1);
    let paper = read(&text, CLAIMS_TOML).unwrap_or_else(|error| panic!("{error}"));
    let quantities: Vec<_> = paper.experiments.iter().map(|each| each.quantities.len()).collect();
    assert_eq!(paper.experiments[0].quantities, ["goodput_mbps", "queue_kb", "drops"]);
    assert_eq!(quantities, [3, 3, 2, 2, 2, 2]);
    let request = super::super::Request { quick: true, ..Default::default() };
    let study = super::super::Study::new(paper, &request).unwrap();
    let progress = |_| std::ops::ControlFlow::Continue(());
    let results = crate::run::run(&study.runs[0].plan, Default::default(), progress).unwrap();
    let measured: Vec<_> = study.measure(0, &results).quantities.into_keys().collect();
    assert_eq!(measured, ["drops", "goodput_mbps", "queue_kb"]);
}

#[test]
fn mistakes_are_met_where_they_are() {
    let cases = [
        ("title =", "titel =", "unknown key \"titel\"\n  did you mean \"title\"?"),
        (
            "for = { cc = \"controls\" }",
            "for = { cc = \"contrls\" }",
            "no list is called \"contrls\"\n  did you mean \"controls\"?",
        ),
        (
            "use = [\"{cc}\"]",
            "use = [\"{c}\"]",
            "\"{c}\" stands for nothing here\n  did you mean \"cc\"? known: cc",
        ),
        ("use = [\"{cc}\"]", "use = [\"cubic\"]", "no set is called \"cubic\"\n  known: dctcp, reno"),
        (
            "scenario = \"two-flows.toml\"",
            "scenario = \"two.toml\"",
            "p has no file \"two.toml\"\n  did you mean \"two-flows.toml\"?",
        ),
        (
            "scenario = \"two-flows.toml\"",
            "scenario = \"../x.toml\"",
            "\"../x.toml\" is no file of the folder",
        ),
        ("name = \"control.{cc}\"", "name = \"control\"", "an experiment \"control\", expected group.row"),
        ("name = \"threshold.{k}\"", "name = \"threshold.k\"", "there are two experiments \"threshold.k\""),
        (
            "measure = \"bottleneck\"",
            "measure = \"botleneck\"",
            "nothing measured is called \"botleneck\"\n  did you mean",
        ),
        (
            "column = \"mean_backlog_bytes\"",
            "column = \"backlog\"",
            "the table \"queues\" has no column \"backlog\"",
        ),
        (
            "table = \"queues\", column",
            "table = \"queue\", column",
            "results have no table \"queue\"\n  did you mean \"queues\"?",
        ),
        ("reduce = \"mean\"", "reduce = \"average\"", "unknown name \"average\""),
        ("times = 1000 }", "of = \"queue_kb\" }", "a quantity has one of"),
        ("times = 1000 }", "keep = false }", "\"goodput_mbps\" is not kept, and nothing follows from it"),
        ("times = 1000 }", "increase = \"flow\" }", "are of a `table`"),
        ("metric = \"long.goodput_gbps\"", "sum = [\"queue_kb\"]", "a `sum` is of two quantities or more"),
        ("reduce = \"mean\"", "increase = \"flow\", reduce = \"mean\"", "has no column \"flow\""),
        ("metric = \"long.goodput_gbps\"", "of = \"goodput_mbps\"", "\"goodput_mbps\" follows from itself"),
        (
            "metric = \"long.goodput_gbps\"",
            "of = \"goodput\"",
            "nothing here measures \"goodput\"\n  did you mean",
        ),
        (
            "y_times = 1e-3, where",
            "empty = 0, where",
            "intervals are `bins` above 0; without them no interval is `empty`",
        ),
        (
            "x = \"start_ps\"",
            "bins = \"1 ms\", x = \"max_backlog_bytes\"",
            "\"max_backlog_bytes\" is no time",
        ),
        ("x_times = 1e-9", "x_plus = inf", "`x_times`, `x_plus`, `y_times` and `empty` are numbers"),
        (
            "series = \"control.reno.queue\"",
            "series = \"control.cubic.queue\"",
            "nothing measures the series",
        ),
        (
            "sweep = \"threshold.{k}.queue_kb\"",
            "sweep = \"threshold.{k}.queue\"",
            "nothing measures the quantity",
        ),
        ("x = \"{k.kb}\"\nquantity", "x = \"{k}\"\nquantity", "x is \"k15\" for \"k15\", expected a number"),
        (
            "group = \"control\"",
            "group = \"controls\"",
            "nothing measures the row \"reno\" of the group \"controls\"",
        ),
        (
            "watched = [\"control.reno.queue_kb\"",
            "watched = [\"control.reno.queue\"",
            "nothing measures the quantity",
        ),
        (
            "reduce = \"ordering\"",
            "reduce = { rank_of = \"k16\" }",
            "the list has no entry \"k16\"\n  did you mean \"k15\"?",
        ),
        ("version = 1", "version = 2", "version = 2, this narrows reads papers of version 1"),
        ("name = \"new-paper\"", "name = \"a/b\"", "the name \"a/b\", expected"),
        ("title = \"Queues", "title = \"\\u001b[31mQueues", "the control character U+001B in a text"),
        (
            "[measure.bottleneck.series]",
            "[measure.other]\n[measure.bottleneck.series]",
            "no experiment measures \"other\"",
        ),
        (
            "bins = \"100 us\", at = \"start_ps\", reduce = \"mean\"",
            "until = { above = \"goodput_mbps\" }",
            "`until` is of intervals: `bins` and `at`",
        ),
        (
            "reduce = \"mean\"",
            "reduce = \"mean\", until = { above = \"goodput_mbps\" }",
            "many values need one of `reduce` and `until` to be one",
        ),
        (
            "reduce = \"mean\"",
            "until = { above = \"goodput_mbps\", below = \"goodput_mbps\" }",
            "`until` has one of `below` and `above`",
        ),
        ("reduce = \"mean\"", "until = { above = \"goodput\" }", "nothing here measures \"goodput\""),
        (
            "reduce = \"mean\"",
            "until = { above = \"goodput_mbps\", in_a_row = 0 }",
            "`in_a_row` is 1 or more",
        ),
        (
            "measure = \"bottleneck\"",
            "measure = [\"bottleneck\", \"bottleneck\"]",
            "\"bottleneck\" measures \"goodput_mbps\", and so does a measure before it",
        ),
        ("measure = \"bottleneck\"", "measure = []", "an experiment has a measure"),
        ("kb = 15 }", "kb = 15, x = [1] }", "found an array"),
    ];
    for (from, to, expected) in cases {
        let error = refused(from, to);
        assert!(error.contains(expected), "{to}: {error}");
        assert!(error.starts_with("p/paper.toml:"), "{to}: {error}");
    }
    let claims = CLAIMS_TOML.replacen("Figure 1", "Figure 7", 1);
    let error = read(PAPER_TOML, &claims).unwrap_err().to_string();
    assert!(
        error.starts_with("p/claims.toml:5:10  no figure is called \"Figure 7\"\n  did you mean"),
        "{error}"
    );
    let fitted = refused("watched = [\"control", "fitted = [\"reno\"]\nwatched = [\"control");
    assert!(fitted.contains("no claim is called \"reno\"\n  did you mean \"reno-queue\"?"), "{fitted}");
}

/// Both claims about goodput as one, over a list.
const OVER_A_LIST: &str = "[[claim]]
for = { c = \"controls\" }
id = \"{c}-goodput\"
figure = \"Figure 1\"
source = \"§1\"
statement = \"{c.label} fills the link\"
quantity = \"control.{c}.goodput_mbps\"
reported = 950
unit = \"Mb/s\"
class = \"exact\"

[[note]]
of = \"*-goodput\"
text = \"unexplained, like {control.reno.goodput_mbps}\"

[lists]
controls = [{ key = \"reno\", label = \"Reno\" }, { key = \"dctcp\", label = \"DCTCP\" }]
";

/// The claims of the example with these instead of those about goodput.
fn with_claims(text: &str) -> String {
    let rest = CLAIMS_TOML.split_once("[[claim]]\nid = \"dctcp-queue\"").unwrap().1;
    format!("{text}\n[[claim]]\nid = \"dctcp-queue\"{rest}")
}

#[test]
fn a_claim_over_a_list_is_a_claim_for_each_entry_and_a_note_is_of_all_whose_ids_it_fits() {
    let paper = read(PAPER_TOML, &with_claims(OVER_A_LIST)).unwrap_or_else(|error| panic!("{error}"));
    let plain = read(PAPER_TOML, CLAIMS_TOML).unwrap().claims;
    assert_eq!(paper.claims.len(), plain.len());
    let note = Some("unexplained, like {control.reno.goodput_mbps}".to_owned());
    for (claim, plain) in paper.claims.iter().zip(plain).take(2) {
        assert_eq!(*claim, super::super::Claim { source: "§1".into(), note: note.clone(), ..plain });
    }
    assert!(paper.claims[2..].iter().all(|claim| claim.note.is_none()));
}

#[test]
fn mistakes_in_claims_over_lists_are_met_where_they_are() {
    let cases = [
        ("{ c = \"controls\" }", "{ c = \"contrls\" }", "claims.toml:2:7  no list is called \"contrls\""),
        ("fills the link", "fills the {lnk}", "claims.toml:6:13  \"{lnk}\" stands for nothing here"),
        ("id = \"{c}-goodput\"", "id = \"a-goodput\"", "claims.toml:3:6  there are two claims"),
        (
            "control.{c}.goodput_mbps",
            "control.{c}.goodput",
            "claims.toml:7:12  nothing measures the quantity",
        ),
        ("reported = 950", "at_most = 950", "claims.toml:1:1  classes exact and size need `reported`"),
        ("*-goodput", "*-goodptu", "claims.toml:13:6  no claim is called \"*-goodptu\""),
        (
            "[[note]]",
            "[[note]]\nof = \"reno-*\"\ntext = \"x\"\n[[note]]",
            "the claim \"reno-goodput\" has a note already",
        ),
    ];
    for (from, to, expected) in cases {
        assert!(OVER_A_LIST.contains(from), "{from}");
        let error =
            read(PAPER_TOML, &with_claims(&OVER_A_LIST.replacen(from, to, 1))).unwrap_err().to_string();
        assert!(error.contains(expected), "{to}: {error}");
    }
    let many =
        format!("many = [{}]", (0..200).map(|number| number.to_string()).collect::<Vec<_>>().join(", "));
    let text =
        OVER_A_LIST.replacen("{ c = \"controls\" }", "[{ c = \"many\" }, { d = \"many\" }]", 1) + &many;
    let error = read(PAPER_TOML, &with_claims(&text)).unwrap_err().to_string();
    assert!(error.contains("40000 claims, expected at most 10000"), "{error}");
}

/// An explanation of the claim about the queue of DCTCP.
const EXPLAINED: &str = "class = \"size\"

[claim.explained]
under = \"half of the buffer\"
by = [\"control.dctcp.queue_kb | buffer | 150 kB\"]
found = [\"dctcp-queue\"]
predicts = { reno-goodput = \"control.reno.goodput_mbps | buffer | 150 kB\" }
";

#[test]
fn experiments_of_explanations_are_repeated_with_what_they_name_and_unknown_names_are_met() {
    let with = |explained: &str| read(PAPER_TOML, &CLAIMS_TOML.replacen("class = \"size\"\n", explained, 1));
    let paper = with(EXPLAINED).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(paper.parameters[0].tested, ["control.reno.goodput_mbps"], "the other one is watched");
    assert!(paper.parameters[0].repeated().contains("control.reno"));
    let cases = [
        ("queue_kb | buffer", "queue | buffer", "nothing measures the quantity \"control.dctcp.queue\""),
        ("queue_kb | buffer", "queue_kb | bufer", "no parameter is called \"bufer\"\n  did you mean"),
        ("queue_kb | buffer | 150 kB", "queue_kb | buffer | 15 kB", "has no alternative \"15 kB\""),
        ("[\"dctcp-queue\"]", "[\"dctcp-queu\"]", "no claim is called \"dctcp-queu\"\n  did you mean"),
        ("reno-goodput =", "reno-goodputs =", "no claim is called \"reno-goodputs\""),
    ];
    for (from, to, expected) in cases {
        assert!(EXPLAINED.contains(from), "{from}");
        let error = with(&EXPLAINED.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("claims.toml:"), "{to}: {error}");
    }
}

#[test]
fn charts_and_curves_over_lists_are_one_for_each_entry() {
    let curves = "curve = [{ label = \"Reno\", series = \"control.reno.queue\" }, { label = \"DCTCP\", series = \"control.dctcp.queue\" }]";
    let over =
        "curve = [{ for = { c = \"controls\" }, label = \"{c.label}\", series = \"control.{c}.queue\" }]";
    let title = "title = \"what waits at the bottleneck\"";
    let charts = "for = { n = [1, 2] }\ntitle = \"what waits, {n}\"";
    for text in [curves, title] {
        assert!(PAPER_TOML.contains(text), "{text}");
    }
    let changed = PAPER_TOML.replacen(curves, over, 1).replacen(title, charts, 1);
    let changed =
        changed.replacen("rows = \"controls\",", "rows = \"controls\", label = \"under {row.label}\",", 1);
    let paper = read(&changed, CLAIMS_TOML).unwrap_or_else(|error| panic!("{error}"));
    let figure = &paper.figures[0];
    let drawn: Vec<_> =
        figure.charts.iter().map(|chart| (chart.title.as_str(), chart.curves.len())).collect();
    assert_eq!(drawn, [("what waits, 1", 2), ("what waits, 2", 2)]);
    let plain = &read(PAPER_TOML, CLAIMS_TOML).unwrap().figures[0].charts[0];
    assert_eq!(format!("{:?}", figure.charts[1].curves), format!("{:?}", plain.curves));
    let labels: Vec<_> = figure.tables[0].rows.iter().map(|(_, label)| label.as_str()).collect();
    assert_eq!(labels, ["under Reno", "under DCTCP"]);
    let unknown = read(&changed.replacen("control.{c}.queue", "control.{c}.quue", 1), CLAIMS_TOML);
    let error = unknown.unwrap_err().to_string();
    assert!(error.contains("paper.toml:64:10  nothing measures the series \"control.reno.quue\""), "{error}");
}

#[test]
fn mistakes_in_what_is_taken_of_a_table_are_met_where_they_are() {
    let (column, filter) = ("column = \"mean_backlog_bytes\"", "where = { to = \"right/switch\" }, bins");
    let (bins, y) = ("bins = \"100 us\", at = \"start_ps\"", "y = \"mean_backlog_bytes\"");
    let with = |text: &str, more: &str| format!("{text}, {more}");
    let cases = [
        (column, with(column, "minus = \"start\""), "has no column \"start\""),
        (column, with(column, "minus = \"to\""), "the column \"to\" has names, expected numbers"),
        (column, with(column, "values = { a = 1 }"), "has numbers, `values` are of names"),
        (column, with("column = \"to\"", "values = { a = inf }"), "`values` are a number for each name"),
        (
            column,
            with(column, "minus = \"start_ps\", increase = \"link\""),
            "a column has one of `increase`, `minus` and `values`",
        ),
        (
            filter,
            "where = { to = { among = { table = \"flow\", column = \"dst\" } } }, bins".to_owned(),
            "results have no table \"flow\"",
        ),
        (
            filter,
            "where = { to = { among = { table = \"flows\", column = \"size_bytes\" } } }, bins".to_owned(),
            "values of \"to\" are of another kind: name",
        ),
        (
            filter,
            "where = { to = { from = 1, among = { table = \"flows\", column = \"dst\" } } }, bins".to_owned(),
            "`among` stands alone",
        ),
        (
            bins,
            "by = [\"node\", \"mean_backlog_bytes\"]".to_owned(),
            "rows cannot be grouped by the real numbers",
        ),
        (y, "distribution = 0".to_owned(), "a distribution of 0 points, expected 1 to 10000"),
        (y, "distribution = 10, running = true".to_owned(), "a series has `y`, with what becomes of it, or"),
        (
            y,
            with(y, "x_minus = \"start_ps\", each = \"sum\""),
            "rows are joined by a column, not by a difference",
        ),
    ];
    for (from, to, expected) in cases {
        let error = refused(from, &to);
        assert!(error.starts_with("p/paper.toml:") && error.contains(expected), "{to}: {error}");
    }
}

#[test]
fn whatever_a_file_asks_for_has_a_bound() {
    let numbers: Vec<_> = (0..200).map(|number| number.to_string()).collect();
    let many = format!("many = [{}]\ncontrols = [", numbers.join(", "));
    let text = PAPER_TOML.replacen("controls = [", &many, 1);
    let grid = "for = [{ a = \"many\" }, { b = \"many\" }, { c = \"many\" }, { d = \"many\" }]";
    let large = text.replacen("for = { cc = \"controls\" }", grid, 1);
    let error = read(&large, CLAIMS_TOML).unwrap_err().to_string();
    assert!(error.contains("1600000000 experiments, expected at most 10000"), "{error}");
    let tables = "{ group = \"control\", rows = \"many\", columns = \"many\" }, ".repeat(6);
    let wide = text.replacen("table = [", &format!("table = [{tables}"), 1);
    let error = read(&wide, CLAIMS_TOML).unwrap_err().to_string();
    assert!(error.contains("more than 200000 points and cells"), "{error}");
}

#[test]
fn what_a_scenario_lacks_is_met_before_it_is_run() {
    let plan = |from: &str, to: &str| {
        let paper = read(&PAPER_TOML.replacen(from, to, 1), CLAIMS_TOML).unwrap();
        let request = super::super::Request { quick: true, ..Default::default() };
        super::super::Study::new(paper, &request).map(drop).unwrap_err().to_string()
    };
    let metric = plan("metric = \"long.goodput_gbps\"", "metric = \"short.goodput_gbps\"");
    assert!(
        metric.contains("there is no metric \"short.goodput_gbps\"")
            && metric.contains("known: long.flows, "),
        "{metric}"
    );
    let pattern = plan("where = { to = \"right/switch\" }", "where = { to = [\"right/*\", \"rigth/*\"] }");
    assert!(pattern.contains("has no to \"rigth/*\""), "{pattern}");
    let among = "where = { to = { among = { table = \"windows\", column = \"group\" } } }";
    let among = plan("where = { to = \"right/switch\" }", among);
    assert!(among.contains("have no table \"windows\""), "{among}");
    let node = plan("where = { to = \"right/switch\" }", "where = { to = \"rigth/switch\" }");
    assert!(node.contains("has no to \"rigth/switch\"\n  did you mean \"right/switch\"?"), "{node}");
    let table = plan("set = [\"stop.after=200 ms\"]", "set = [\"stop.after=200 ms\", \"record={}\"]");
    assert!(table.contains("have no table \"queues\"\n  there is one with `record.queues`"), "{table}");
    let change =
        plan("switches.default.marking.step.k={k.kb} kB", "switches.default.markin.step.k={k.kb} kB");
    assert!(change.contains("paper.toml:") && change.contains("unknown key \"markin\""), "{change}");
    let bins = plan("bins = \"100 us\"", "bins = \"1 ns\"");
    assert!(bins.contains("intervals in") && bins.contains("expected at most 1000000"), "{bins}");
}

/// Measurements of the first run of the short form, with more quantities, more series and more changes of the scenario.
fn measured(quantities: &str, series: &str, set: &str) -> super::super::Measured {
    let (before, behind) = PAPER_TOML.split_once("[measure.bottleneck.series]").unwrap();
    let text = format!("{before}{quantities}\n[measure.bottleneck.series]\n{series}{behind}")
        .replace("\"stop.after=200 ms\"", &format!("\"stop.after=200 ms\", {set}"));
    let paper = read(&text, CLAIMS_TOML).unwrap_or_else(|error| panic!("{error}"));
    let request = super::super::Request { quick: true, ..Default::default() };
    let study = super::super::Study::new(paper, &request).unwrap_or_else(|error| panic!("{error}"));
    let go_on = |_| std::ops::ControlFlow::Continue(());
    let results = crate::run::run(&study.runs[0].plan, Default::default(), go_on).unwrap();
    study.measure(0, &results)
}

#[test]
fn a_count_adds_up_to_the_same_by_its_increases_by_its_last_values_and_in_intervals() {
    let quantities = "
        first = { table = \"windows\", column = \"delivered_bytes\", increase = \"flow\", where = { at_ps = { below = \"60 ms\" } }, reduce = \"sum\", keep = false }
        rest = { table = \"windows\", column = \"delivered_bytes\", increase = \"flow\", where = { at_ps = { from = \"60 ms\" } }, reduce = \"sum\", keep = false }
        all = { sum = [\"first\", \"rest\"] }
        last = { table = \"windows\", column = \"delivered_bytes\", by = \"flow\", each = \"max\", reduce = \"sum\" }";
    let series = "growth = { table = \"windows\", x = \"at_ps\", x_times = 1e-9, x_plus = 1, y = \"delivered_bytes\", increase = \"flow\", where = { at_ps = { from = \"0 s\", below = \"200 ms\" } }, bins = \"10 ms\", empty = 0 }";
    let measured = measured(quantities, series, "'record.windows={ interval = \"1 ms\", flows = 2 }'");
    let kept: Vec<_> = measured.quantities.keys().map(String::as_str).collect();
    assert_eq!(kept, ["all", "goodput_mbps", "last", "queue_kb"]);
    let (all, growth) = (measured.quantities["all"], &measured.series["growth"]);
    assert!(all > Some(0.0) && all == measured.quantities["last"]);
    assert_eq!(all, Some(growth.iter().map(|point| point.1).sum()));
    assert_eq!((growth.len(), growth[0].0, growth[19].0), (20, 1.0, 191.0));
}

#[test]
fn rows_are_those_of_names_that_fit_and_those_with_values_that_stand_in_another_table() {
    let quantities = "
        hosts = { table = \"queues\", column = \"to\", where = { to = \"right/host*\" }, reduce = \"distinct\" }
        receivers = { table = \"queues\", column = \"to\", where = { to = { among = { table = \"flows\", column = \"dst\" } } }, reduce = \"distinct\" }
        of_one = { table = \"queues\", column = \"to\", where = { to = { among = { table = \"flows\", column = \"dst\", where = { flow = 0 } } } }, reduce = \"distinct\" }
        ports = { table = \"queues\", column = \"to\", by = [\"node\", \"to\"], each = \"count\", reduce = \"count\" }
        balance = { table = \"queues\", column = \"node\", values = { \"left/switch\" = 1, \"right/switch\" = -1 }, reduce = \"sum\" }
        rows = { table = \"queues\", column = \"node\", reduce = \"count\" }
        right = { table = \"queues\", column = \"node\", where = { node = \"right/*\" }, reduce = \"count\" }";
    let series = "
        bytes = { table = \"queues\", x = \"start_ps\", y = \"bytes\", running = true }
        delays = { table = \"queues\", x = \"start_ps\", x_minus = \"start_ps\", distribution = 4 }";
    let measured = measured(quantities, series, "'record.queues.of=*/switch'");
    let of = |name: &str| measured.quantities[name].unwrap();
    assert_eq!([of("hosts"), of("receivers"), of("of_one")], [2.0, 2.0, 1.0]);
    assert!(of("right") > 0.0 && of("balance") == of("rows") - 2.0 * of("right"));
    assert!(of("ports") >= 3.0);
    assert!(measured.series["bytes"].windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert_eq!(measured.series["delays"], [(0.0, 25.0), (0.0, 50.0), (0.0, 75.0), (0.0, 100.0)]);
}

#[test]
fn another_measure_is_another_hash() {
    let hash = |paper: &str, claims: &str| {
        let paper = read(paper, claims).unwrap();
        paper.experiments[0].measure.hashes().map(str::to_owned).collect::<Vec<_>>()
    };
    let own = hash(PAPER_TOML, CLAIMS_TOML);
    assert_ne!(own, hash(&PAPER_TOML.replace("times = 1000", "times = 1001"), CLAIMS_TOML));
    // What decides nothing about measurements changes nothing, wherever it stands.
    assert_eq!(own, hash(&format!("# Two flows.\n{PAPER_TOML}"), &CLAIMS_TOML.replace("950", "951")));
}

#[test]
fn a_paper_that_is_started_is_complete_and_never_replaces_anything() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("my-paper");
    start(&folder).unwrap();
    let paper = super::super::find(&folder.display().to_string()).unwrap();
    assert_eq!((paper.name.as_str(), paper.claims.len()), ("my-paper", 5));
    assert!(start(&folder).unwrap_err().to_string().contains("exists"));
    let taken = start(&place.path().join("BCN")).unwrap_err().to_string();
    assert!(taken.contains("\"BCN\" is the name of a paper that is part of Narrows"), "{taken}");
    assert!(start(&place.path().join("a b")).is_err());
}

#[test]
fn intervals_on_pages_of_papers_end_at_what_their_quantities_can_be() {
    let losses = "\
[measure.losses.quantities]
jain = { table = \"flows\", column = \"delivered_measured_bytes\", reduce = \"jain\" }
flows = { table = \"flows\", column = \"flow\", reduce = \"count\", keep = false }
ended = { table = \"flows\", column = \"fct_ps\", reduce = \"count\", keep = false }
ended_percent = { fraction = [\"ended\", \"flows\"], times = 100 }
idle_part = { of = \"flows\", times = -0.1, plus = 1, at_least = 0 }
p99_slowdown = { metric = \"total.p99_slowdown\" }
beside = { ratio = [\"flows\", \"ended\"] }
more = { difference = [\"flows\", \"ended\"] }
";
    let text = PAPER_TOML.replacen("measure = \"bottleneck\"", "measure = [\"bottleneck\", \"losses\"]", 1);
    let text =
        text.replacen("[measure.bottleneck.series]", &format!("{losses}\n[measure.bottleneck.series]"), 1);
    let paper = read(&text, CLAIMS_TOML).unwrap_or_else(|error| panic!("{error}"));
    let near_one = [0.9, 0.95, 0.7];
    let found = |column: &str, times: f64| {
        let quantity = format!("control.reno.{column}");
        let values = near_one.map(|value| Some(value * times)).to_vec();
        let samples = [((None, quantity.clone()), values)].into();
        let found = super::super::observed::Observed::new(&paper, &samples).estimate(None, &quantity);
        found.unwrap().interval.unwrap()
    };
    assert_eq!(
        [found("jain", 1.0).1, found("idle_part", 1.0).1, found("ended_percent", 100.0).1],
        [1.0, 1.0, 100.0]
    );
    assert_eq!(found("p99_slowdown", 1.5).0, 1.0);
    let free = ["beside", "more", "goodput_mbps"].map(|column| found(column, 1.0).1);
    assert!(free.iter().all(|most| *most > 1.0), "{free:?}");
}

#[test]
fn a_short_form_has_one_seed_or_as_many_as_the_paper_says() {
    let quick = Request { quick: true, ..Request::default() };
    let seeds = |paper: &str| Study::new(read(paper, CLAIMS_TOML).unwrap(), &quick).unwrap().seeds;
    let with = |seeds: &str| format!("version = 1\nquick_seeds = {seeds}");
    assert_eq!(seeds(PAPER_TOML), Some(1));
    assert_eq!(seeds(&PAPER_TOML.replacen("version = 1", &with("3"), 1)), Some(3));
    assert!(refused("version = 1", &with("0")).contains("quick_seeds = 0, expected 1 to 10"));
}
