use clap::CommandFactory;
use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::plan::Plan;
use narrows::scenario::Scenario;
use narrows_sim::topology::NodeKind;
use serde_json::{Value, json};

use super::{document, show_warnings};
use crate::args::{self, Listed};
use crate::{Status, show};

/// Checks a scenario and shows what it comes to.
pub(crate) fn check(arguments: &args::Check) -> Checked<Status> {
    let plan = Plan::new(document(&arguments.scenario, &arguments.input)?)?;
    let memory = plan.memory(1);
    if arguments.json {
        let group = |group: &narrows::plan::PlannedGroup| {
            let per_second = if group.rpcs.is_some() { "rpcs_per_second" } else { "flows_per_second" };
            json!({
                "name": group.name,
                "control": group.control,
                "pattern": group.pattern,
                "flows": group.flows.len(),
                "mean_size_bytes": group.sizes.as_ref().map(|sizes| sizes.sizes.mean()),
                (per_second): group.load.as_ref().map(|load| load.per_second),
            })
        };
        let output = json!({
            "name": plan.scenario.name,
            "network": plan.describe_network(),
            "groups": plan.groups.iter().map(group).collect::<Vec<_>>(),
            "memory_bytes": memory.get(),
            "warnings": plan.warnings.iter().map(|w| json!({ "code": w.code.name(), "message": w.message })).collect::<Vec<_>>(),
        });
        say!("{}", serde_json::to_string_pretty(&output).unwrap_or_default());
        return Ok(Status::Done);
    }
    say!("{}", show::headline(&plan, 1));
    say_part!("{}", show::groups(&plan));
    say!("  at most {memory:.0} of memory");
    if arguments.nodes {
        print_nodes(&plan);
    }
    show_warnings(&plan);
    say!("{} is fine", arguments.scenario.display());
    Ok(Status::Done)
}

fn print_nodes(plan: &Plan) {
    let topology = &plan.network.topology;
    let kind = |kind: &NodeKind| match kind {
        NodeKind::Host(_) => "host".to_owned(),
        NodeKind::Switch { class, .. } => format!("switch, class {class}"),
    };
    say!("nodes");
    say_part!("{}", show::list(topology.nodes().iter().map(|node| [node.name.clone(), kind(&node.kind)])));
    say!("links");
    let links = (0..topology.links().len()).map(|link| {
        let link = narrows_sim::LinkId::from(link);
        let wire = topology.link(link).wire;
        [topology.link_name(link), format!("{}, {}", wire.rate, wire.delay)]
    });
    say_part!("{}", show::list(links));
}

/// Lists what is built in.
pub(crate) fn list(arguments: &args::List) -> Checked<Status> {
    let all = [
        (Listed::Controls, "controls", "congestion controls: cc = { NAME = {} }"),
        (Listed::Sizes, "sizes", "distributions of flow sizes: sizes = \"NAME\""),
        (Listed::Topologies, "topologies", "networks: [topology.NAME]"),
        (Listed::Patterns, "patterns", "who sends what to whom: pattern = { NAME = { … } }"),
        (Listed::Templates, "templates", "scenarios to start from: narrows new --template NAME"),
        (Listed::Codes, "codes", "diagnostics: narrows explain CODE"),
    ];
    let chosen = all.iter().filter(|(listed, ..)| arguments.what.is_none_or(|what| what == *listed));
    if arguments.json {
        let lists: serde_json::Map<_, _> = chosen
            .map(|(listed, key, _)| {
                let rows = rows(*listed)
                    .into_iter()
                    .map(|[name, summary]| json!({ "name": name, "summary": summary }));
                ((*key).to_owned(), Value::Array(rows.collect()))
            })
            .collect();
        say!("{}", serde_json::to_string_pretty(&lists).unwrap_or_default());
        return Ok(Status::Done);
    }
    for (number, (listed, _, title)) in chosen.enumerate() {
        if number > 0 {
            say!();
        }
        say!("{title}");
        say_part!("{}", show::list(rows(*listed)));
    }
    Ok(Status::Done)
}

fn rows(listed: Listed) -> Vec<[String; 2]> {
    match listed {
        Listed::Controls => {
            let rows = narrows_proto::cc::registry::ALGORITHMS.iter();
            rows.map(|entry| [entry.name.into(), format!("{} ({})", entry.summary, entry.source)]).collect()
        }
        Listed::Sizes => {
            let rows = narrows::sizes::BUILT_IN.iter();
            rows.map(|sizes| [sizes.name.into(), sizes.summary().into()]).collect()
        }
        Listed::Topologies => narrows::scenario::variants("Topology"),
        Listed::Patterns => narrows::scenario::variants("Pattern"),
        Listed::Templates => {
            let rows = narrows::templates::TEMPLATES.iter();
            rows.map(|template| [template.name.into(), template.summary().into()]).collect()
        }
        Listed::Codes => Code::ALL.iter().map(|code| [code.name().into(), code.title().into()]).collect(),
    }
}

/// Prints the JSON schema of scenarios.
pub(crate) fn schema() -> Checked<Status> {
    say!("{}", serde_json::to_string_pretty(&Scenario::schema()).unwrap_or_default());
    Ok(Status::Done)
}

/// Explains a diagnostic.
pub(crate) fn explain(arguments: &args::Explain) -> Checked<Status> {
    let wanted = arguments.code.to_uppercase();
    let Some(code) = Code::ALL.iter().find(|code| code.name() == wanted) else {
        let error = Diagnostic::error(
            Code::UnknownName,
            format!("no diagnostic has the code \"{}\"", arguments.code),
        );
        return Err(error.known(&wanted, Code::ALL.iter().map(|code| code.name())).into());
    };
    say!("{}  {}\n\n{}", code.name(), code.title(), code.explanation());
    Ok(Status::Done)
}

/// Prints completions for a shell.
pub(crate) fn completions(arguments: &args::Completions) -> Checked<Status> {
    clap_complete::generate(
        arguments.shell,
        &mut args::Arguments::command(),
        "narrows",
        &mut std::io::stdout(),
    );
    Ok(Status::Done)
}
