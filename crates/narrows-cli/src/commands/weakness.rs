use std::path::{Path, PathBuf};
use std::time::Instant;

use narrows::diagnostic::Checked;
use narrows::numbers::number;
use narrows::visible::shown_path;
use narrows::weakness::{Case, Control, Found, Objective, Progress, Request, search};

use crate::progress::{GENERATIONS_KEPT, catch_interrupts, goes_on};
use crate::{Status, args, show};

/// Searches for the paths on which a control does badly though others do well.
pub(crate) fn break_control(arguments: &args::Break) -> Checked<Status> {
    let args::Break { evaluations, seed, rate, rtt, json, quiet, .. } = *arguments;
    let control = Control::find(&arguments.control)?;
    let objective = Objective::find(&arguments.objective)?;
    let (name, objective_name) = (control.name, objective.name());
    let out = PathBuf::from("out/break").join(format!("{name}-{objective_name}"));
    let out = arguments.out.clone().unwrap_or(out);
    let jobs = arguments.jobs.map_or_else(narrows::run::cores, usize::from);
    let request = Request { control, objective, seed, evaluations, rate, rtt };
    catch_interrupts(GENERATIONS_KEPT);
    if !json {
        let version = env!("CARGO_PKG_VERSION");
        say!(
            "{name} · {objective_name}: {} · {evaluations} paths · seed {seed} · narrows {version}",
            objective.summary()
        );
    }
    let began = Instant::now();
    let report = |progress| {
        if !quiet && !json {
            show_progress(progress);
        }
    };
    let Some(found) = search(&request, &out, jobs, &goes_on, &report)? else {
        complain!("what was tried is in {}: the same command resumes from there", shown_path(&out));
        return Ok(Status::Interrupted);
    };
    if !quiet {
        let seconds = began.elapsed().as_secs_f64();
        complain!("{} paths, {} runs in {seconds:.1} s", found.evaluations, found.runs);
    }
    if json {
        say!("{}", serde_json::to_string_pretty(&found).unwrap_or_default());
    } else {
        print(&found, &out);
    }
    Ok(Status::Done)
}

fn show_progress(progress: Progress) {
    let Progress { evaluations, runs, best, is_old } = progress;
    let before = if is_old { " tried before" } else { "" };
    complain!("{evaluations} paths{before}, {runs} runs: the best score is {best:.3}");
}

fn print(found: &Found, out: &Path) {
    if found.cases.is_empty() {
        say!("no path was found on which {} does worse than others in its place", found.control);
    }
    for (index, case) in found.cases.iter().enumerate() {
        say!();
        say!("case {}: score {:.3} ({})", index + 1, case.score, with_other_seeds(case));
        say!("  {}", case.path);
        say_part!("{}", show::list(rows(found, case)));
    }
    say!();
    say!("badness: {}; the score is that of {} less the least", found.meaning, found.control);
    say!("wrote {}/  ({})", shown_path(out), super::folders::files(out));
}

fn with_other_seeds(case: &Case) -> String {
    let (least, most) = case
        .other_seeds
        .iter()
        .fold((1.0, 0.0), |(least, most), score| (f64::min(least, *score), f64::max(most, *score)));
    format!("{least:.3} to {most:.3} with {} other seeds", case.other_seeds.len())
}

/// The control under test, then the others.
fn rows(found: &Found, case: &Case) -> Vec<[String; 2]> {
    let text = |badness: f64, goodput: f64| format!("badness {badness:.3}, {} Mb/s", number(goodput / 1e6));
    let others = case.references.iter().map(|reference| {
        let note = if reference.delivers { "" } else { ", delivers too little to be compared" };
        [reference.control.clone(), text(reference.badness, reference.goodput) + note]
    });
    let share = format!(", of a share of {} Mb/s", number(case.share / 1e6));
    let tested = [found.control.to_owned(), text(case.badness, case.goodput) + &share];
    std::iter::once(tested).chain(others).collect()
}
