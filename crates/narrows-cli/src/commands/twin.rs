//! Twins: a scenario in virtual time and with real hosts, side by side.

use std::path::PathBuf;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::report::{Cell, page};
use narrows::results::{COMPARISON, Output, Results, TWIN};
use narrows::twin::{Quantity, judge, quantities};
use narrows::visible::shown_path;
use narrows_live::{Attached, HostTimes, Live};
use narrows_proto::cc::{Config, registry};
use narrows_proto::units::Span;
use narrows_sim::traffic::Transport;
use narrows_sim::{Hosts, RealHosts, SmallQueues};
use serde_json::json;

use super::live::foresee;
use super::runs::{document, plans, show_doubts, show_warnings, write_run};
use crate::progress::{KEPT, catch_interrupts, goes_on, is_interrupted};
use crate::{Status, args, show};

/// Names of the cells: the second is judged by the first.
const CELLS: [&str; 2] = ["live", "simulated"];

/// Runs of one cell.
struct Runs<'a> {
    cell: Cell,
    quantities: Vec<Vec<Quantity>>,
    output: &'a Output,
}

impl<'a> Runs<'a> {
    fn new(name: &str, output: &'a Output) -> Self {
        Self { cell: Cell { name: name.to_owned(), runs: Vec::new() }, quantities: Vec::new(), output }
    }

    /// Writes a run and keeps what is compared.
    fn add(&mut self, results: &Results) -> Checked<()> {
        let within = format!("{}/seed-{}", self.cell.name, results.plan.scenario.seed);
        let is_first = self.cell.runs.is_empty();
        let finished = write_run(self.output, results, &within, is_first)?;
        show_doubts(&finished, Some(&self.cell.name), is_first);
        self.cell.runs.push(finished.digest);
        self.quantities.push(quantities(results));
        Ok(())
    }
}

/// Runs a scenario in virtual time and with real hosts, and judges what differs.
pub(crate) fn twin(arguments: &args::Twin) -> Checked<Status> {
    narrows_live::take_rights();
    let args::Twin { live, runs, markdown, profile } = arguments;
    let mut document = document(&live.scenario, &live.input)?;
    document.attach_kernel();
    let document = with_profile(document, profile, &live.simulate)?;
    let plans = plans(&document, *runs)?.into_iter().map(Plan::drawn).collect::<Checked<Vec<_>>>()?;
    let native = native(document)?;
    Plan::outline(native.clone())?; // so that nothing has been created if that cannot be simulated
    let make = |plan: &Arc<Plan>| Live::new(plan, live.options());
    let lives = plans.iter().map(make).collect::<Checked<Vec<_>>>()?;
    let foreseen = foresee(&lives[0], live.force)?;
    let plan = &plans[0];
    let measured = measured(plan, &live.simulate);
    let mut host_times = Vec::new();
    let title = &plan.scenario.name;
    let out = live.out.clone().unwrap_or_else(|| PathBuf::from("out").join(format!("{title}-twin")));
    let output = Output::begin(&out, live.overwrite)?;
    catch_interrupts(KEPT);
    if !live.json && !markdown {
        say!("{}", show::headline(plan, *runs));
        say_part!("{}", show::plan::groups(plan));
        say!("{foreseen}");
    }
    show_warnings(plan);
    let [mut real, mut simulated] = CELLS.map(|name| Runs::new(name, &output));
    let mut is_void = false;
    for (plan, live) in plans.iter().zip(lives) {
        let mut native = native.clone();
        native.set(&format!("seed={}", plan.scenario.seed))?;
        let results = if let Some(said) = measured {
            let queues = live.small_queues();
            let (results, times) = live.run_measured(&mut |_| goes_on())?;
            take(&mut native, plan, said, &times, queues)?;
            host_times.push(times);
            results
        } else {
            live.run(Attached::default(), &mut |_| goes_on())?
        };
        is_void |= results.real.as_ref().is_some_and(|real| real.lateness.is_void());
        real.add(&results)?;
        let native = Arc::new(Plan::new(native)?);
        let results = narrows::run::run(&native, narrows::run::Options::default(), |_| goes_on())?;
        simulated.add(&results)?;
    }
    let rows = judge(&simulated.quantities, &real.quantities);
    let times: Vec<_> = host_times.iter().map(in_json).collect();
    let verdict =
        json!({ "engine": narrows::ENGINE, "void": is_void, "host_times": times, "quantities": rows });
    let text = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    output.write_text("", TWIN, &text(&verdict))?;
    output.write_text("", COMPARISON, &text(&json!({ "engine": narrows::ENGINE, "cells": CELLS })))?;
    output.write_text("", "report.html", &page(title, &[real.cell, simulated.cell]))?;
    output.finish()?;
    if live.json {
        say_part!("{}", text(&verdict));
    } else {
        say_part!("{}", show::twin(&rows, *markdown));
    }
    if !live.json && !markdown {
        say_times(measured, &host_times);
        say!("wrote {}/report.html and a folder of tables for each run", shown_path(&out));
    }
    Ok(match is_void {
        _ if is_interrupted() => Status::Interrupted,
        true => Status::Void,
        false => Status::Done,
    })
}

fn in_json(times: &HostTimes) -> serde_json::Value {
    let HostTimes { response, spread, reading, opening, start_every } = times;
    json!({
        "response_ps": response.as_ps(),
        "spread_ps": spread.as_ps(),
        "reading_ps": reading.as_ps(),
        "opening_ps": opening.as_ps(),
        "start_every_ps": start_every.iter().map(|time| time.as_ps()).collect::<Vec<_>>(),
    })
}

/// Says what real hosts took, and therefore simulated ones, and that they have a queue as real ones do unless theirs is `said`.
fn say_times(said: Option<&RealHosts>, times: &[HostTimes]) {
    let range = |what, of: &dyn Fn(&HostTimes) -> Option<Span>, after, settings| {
        let times = || times.iter().filter_map(of);
        if let (Some(least), Some(most)) = (times().min(), times().max()) {
            say!("  real hosts {what} {least} to {most} {after}, and so did simulated ones ({settings})");
        }
    };
    let settings = "hosts.real.pipeline and processing";
    range("took", &|times| Some(times.response), "to respond", settings);
    range("differed by", &|times| Some(times.spread), "in that", settings);
    range("took", &|times| Some(times.reading), "more to read", "transport.push_ack_delay");
    range("took", &|times| Some(times.opening), "more to open a connection", "transport.syn_ack_delay");
    range("started", &mean_start, "one after the other, on average", "hosts.real.start_every");
    if said.is_some_and(|said| said.small_queues.is_none()) {
        say!("  simulated hosts have the queue of real ones (hosts.real.small_queues)");
    }
}

/// Gives simulated hosts the times that were measured of real ones, and their queues, but those that the scenario says.
fn take(
    native: &mut Document,
    plan: &Plan,
    said: &RealHosts,
    times: &HostTimes,
    queues: SmallQueues,
) -> Checked<()> {
    let most = plan.shortest_round_trip().unwrap_or_default().min(times.response * 2);
    let spread = if native.says("hosts.real.processing") { Span::ZERO } else { times.spread.min(most) };
    native.set(&format!("hosts.real.pipeline=\"{} ps\"", (times.response - spread / 2).as_ps()))?;
    if spread > Span::ZERO {
        native
            .set(&format!("hosts.real.processing={{ uniform = {{ up_to = \"{} ps\" }} }}", spread.as_ps()))?;
    }
    for (setting, time) in [("push_ack_delay", times.reading), ("syn_ack_delay", times.opening)] {
        let path = format!("transport.{setting}");
        if !native.says(&path) {
            native.set(&format!("{path}=\"{} ps\"", time.as_ps()))?;
        }
    }
    if said.small_queues.is_none() {
        let SmallQueues { within, packet_memory, .. } = queues;
        let memory = packet_memory.map(|memory| format!(", packet_memory = \"{} B\"", memory.get()));
        let memory = memory.unwrap_or_default();
        native.set(&format!("hosts.real.small_queues={{ within = \"{} ps\"{memory} }}", within.as_ps()))?;
    }
    let is_said = said.start_jitter.is_some() || said.start_every.is_some();
    if is_said || times.start_every.is_empty() {
        return Ok(());
    }
    let every: Vec<_> = times.start_every.iter().map(|time| format!("\"{} ps\"", time.as_ps())).collect();
    native.set(&format!("hosts.real.start_every=[{}]", every.join(", ")))
}

fn mean_start(times: &HostTimes) -> Option<Span> {
    let every = &times.start_every;
    (!every.is_empty()).then(|| every.iter().copied().sum::<Span>() / every.len() as u64)
}

/// Settings of hosts whose times are to be measured. None if the scenario has ideal hosts or says how long theirs take, or if some hosts
/// are simulated in both runs.
fn measured<'a>(plan: &'a Plan, simulate: &[String]) -> Option<&'a RealHosts> {
    let Some(Hosts::Real(real)) = plan.scenario.hosts.as_ref() else { return None };
    (real.pipeline == Span::ZERO && simulate.is_empty()).then_some(real)
}

/// The document for virtual time: controls of the kernel become those of the same name.
fn native(mut document: Document) -> Checked<Document> {
    let plan = Plan::outline(document.clone())?;
    for (group, planned) in plan.traffic.groups.iter().zip(&plan.groups) {
        let Some(kernel) = group.transport.control().and_then(Config::kernel) else { continue };
        let Some(twin) = Config::twin_of(kernel) else {
            let message = format!(
                "traffic.{} is under {} of the kernel, which has no native twin",
                planned.name, kernel.name
            );
            return Err(Diagnostic::error(Code::NoKernel, message)
                .known(&kernel.name, registry::NAMES.iter().copied())
                .into());
        };
        let settings = if kernel.ecn { "ecn = true" } else { "" };
        let within = if group.near_source.is_some() { ".annulus.end_to_end" } else { "" };
        document.set(&format!("traffic.{}.cc{within}={{ {twin} = {{ {settings} }} }}", planned.name))?;
    }
    Ok(document)
}

/// Groups of streams that say no profile of a kernel get one.
fn with_profile(mut document: Document, profile: &str, simulate: &[String]) -> Checked<Document> {
    let plan = Plan::outline(document.clone())?;
    for (group, planned) in plan.traffic.groups.iter().zip(&plan.groups) {
        let path = format!("traffic.{}.transport.profile", planned.name);
        let is_real =
            matches!(group.transport, Transport::Stream { .. }) && !simulate.contains(&planned.name);
        if is_real && !document.says(&path) {
            document.set(&format!("{path}=\"{profile}\""))?;
        }
    }
    Ok(document)
}
