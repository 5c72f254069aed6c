//! Mechanisms put together at random: networks, switches, traffic, congestion controls, and the guide's examples.

mod examples;

use anyhow::{Context, Result};
use fastrand::Rng;
use serde_json::Value;
use toml::Table;

use self::examples::Example;
use super::program::Program;
use super::tree::Tree;
use super::{Ground, Outcome};

/// Combinations of the long form, and of the short one.
pub(super) const COMBINATIONS: u64 = 5000;
pub(super) const FEW_COMBINATIONS: u64 = 5;
/// Of so many that are drawn one is not refused: some mechanisms exclude each other.
const DRAWS: u64 = 50;
/// Examples that a scenario takes settings from, at most.
const EXAMPLES: usize = 3;
/// Groups of traffic, at most.
const GROUPS: usize = 3;
const THREADS: [&str; 3] = ["1", "2", "3"];

pub(super) fn run(ground: &mut Ground) -> Result<Outcome> {
    let combinations = ground.times;
    eprintln!("{combinations} random combinations of mechanisms");
    let (controls, examples) = (controls(&ground.narrows)?, Example::all()?);
    let (mut done, mut found) = (0, Vec::new());
    for number in 1..=combinations * DRAWS {
        if done == combinations {
            break;
        }
        let scenario = combine(&mut ground.random, &controls, &examples)?;
        let problem = match attack(&ground.narrows, &scenario)? {
            Verdict::Refused => continue,
            Verdict::Same => None,
            Verdict::Wrong(problem) => Some(problem),
        };
        done += 1;
        if let Some(problem) = problem {
            eprintln!("{scenario}");
            found.push(format!("combination {number}: {problem}"));
        }
    }
    Ok(Outcome { done, found })
}

enum Verdict {
    /// It makes no sense, and the command says why.
    Refused,
    /// All files are the same on any number of threads.
    Same,
    Wrong(String),
}

fn attack(narrows: &Program, scenario: &str) -> Result<Verdict> {
    let folder = tempfile::tempdir()?;
    let path = folder.path();
    std::fs::write(path.join("scenario.toml"), scenario)?;
    let mut first: Option<Tree> = None;
    for threads in THREADS {
        // Its name is in none of the files.
        let out = format!("threads-{threads}");
        let ended =
            narrows.run(path, &["run", "scenario.toml", "--threads", threads, "--out", &out, "--quiet"])?;
        if !ended.status.success() {
            let refused = ended.is_refusal() && first.is_none();
            return Ok(if refused {
                Verdict::Refused
            } else {
                Verdict::Wrong(format!("{threads} threads: {}", ended.brief()))
            });
        }
        let tree = Tree::read(&path.join(&out))?;
        match &first {
            None => first = Some(tree),
            Some(first) => {
                if let Some(difference) = tree.difference(first) {
                    return Ok(Verdict::Wrong(format!("{threads} threads instead of one: {difference}")));
                }
            }
        }
    }
    Ok(Verdict::Same)
}

/// A congestion control and what it needs.
struct Control {
    /// As a scenario says it: `cc = { dctcp = {} }`.
    text: String,
    rdma: bool,
    telemetry: bool,
    rack: bool,
}

/// All congestion controls that are built in.
fn controls(narrows: &Program) -> Result<Vec<Control>> {
    let folder = tempfile::tempdir()?;
    let listed: Value =
        serde_json::from_str(&narrows.succeed(folder.path(), &["list", "controls", "--json"])?.said)?;
    let listed = listed["controls"].as_array().context("no list of controls")?;
    let control = |control: &Value| {
        let place = control["place"].as_str()?;
        // A control around another, and one that the program brings.
        let text = place.replace("end_to_end = …", "end_to_end = { dctcp = {} }");
        let needs = control["needs"].to_string();
        let (rdma, telemetry, rack) =
            (needs.contains("`rdma`"), needs.contains("telemetry"), needs.contains("rack_agent"));
        (!text.contains('…')).then_some(Control { text, rdma, telemetry, rack })
    };
    let controls: Vec<_> = listed.iter().filter_map(control).collect();
    anyhow::ensure!(controls.len() > 5, "`narrows list controls` names {} controls", controls.len());
    Ok(controls)
}

fn one<'a>(random: &mut Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

/// With this chance in a hundred.
fn sometimes(random: &mut Rng, percent: u32) -> bool {
    random.u32(..100) < percent
}

const TOPOLOGIES: &[&str] = &[
    r#"dumbbell = { hosts = 3, host_rate = "10 Gb/s", host_delay = "1 us", bottleneck_rate = "RATE", bottleneck_delay = "DELAY" }"#,
    r#"star = { hosts = 6, rate = "RATE", delay = "DELAY" }"#,
    r#"parking_lot = { bottlenecks = 2, host_rate = "10 Gb/s", bottleneck_rate = "RATE", delay = "DELAY" }"#,
    r#"leaf_spine = { racks = 2, hosts_per_rack = 3, spines = 2, links_per_spine = 2, host_rate = "10 Gb/s", uplink_rate = "RATE", delay = "DELAY" }"#,
    r#"fat_tree = { k = 4, rate = "RATE", delay = "DELAY" }"#,
    r#"clos = { pods = 2, racks_per_pod = 2, hosts_per_rack = 2, aggs_per_pod = 2, cores = 4, host_rate = "10 Gb/s", rack_uplink_rate = "RATE", core_uplink_rate = "10 Gb/s", delay = "DELAY" }"#,
    r#"kary_tree = { k = 2, levels = 3, rate = "RATE", delay = "DELAY" }"#,
    r#"cross_dc = { datacenters = 2, fabric.leaf_spine = { racks = 2, hosts_per_rack = 2, spines = 1, host_rate = "10 Gb/s", uplink_rate = "10 Gb/s", delay = "1 us" }, wan = { rate = "RATE", delay = "100 us", borders = 2 } }"#,
    r#"cross_dc = { datacenters = 3, fabric.star = { hosts = 3, rate = "10 Gb/s", delay = "DELAY" }, wan = { rate = "RATE", delay = "50 us", error_rate = 0.001 } }"#,
];
const PATTERNS: &[&str] = &[
    r#"permutation = { size = "30 kB" }"#,
    r#"all_to_all = { size = "3 kB" }"#,
    r#"long_lived = { flows = 3 }"#,
    r#"incast = { fan_in = 3, size = "20 kB", times = 3, period = "300 us" }"#,
    r#"random = { flows = 40, within = "1 ms", sizes = { constant = "10 kB" } }"#,
    r#"poisson = { load = 0.4, of = "host_links", sizes = "websearch" }"#,
    r#"closed_loop = { clients = 4, sizes = { constant = "8 kB" }, think = { exponential = "20 us" } }"#,
    r#"closed_loop = { clients = 2, sizes = { constant = "8 kB" }, parallel = 3 }"#,
    r#"rpc = { load = 0.2, of = "host_links", sizes = { constant = "5 kB" }, fan_out = 2 }"#,
];
const DATAGRAMS: &str =
    r#"on_off = { sources = 3, rate = "1 Gb/s", on.exponential = "100 us", off.exponential = "100 us" }"#;
const ROUTING: &[&str] = &[
    "\"ecmp\"",
    "\"d_mod_k\"",
    "\"spray\"",
    "{ wcmp = {} }",
    r#"{ flowlets = { gap = "20 us", table = 16 } }"#,
    r#"{ adaptive = { choices = 2, memory = true } }"#,
    r#"{ adaptive = { gap = "10 us", rechoose = 0.5 } }"#,
];
const SHARING: &[&str] = &[
    "\"per_port\"",
    "\"static\"",
    "\"complete\"",
    "{ dynamic = { alpha = 0.5 } }",
    "{ dynamic = { alpha = 8.0 } }",
];
const MARKING: &[&str] = &[
    "\"off\"",
    r#"{ step = { k = "10 kB" } }"#,
    r#"{ red = { min = "5 kB", max = "15 kB", max_p = 0.1, action = "mark" } }"#,
    r#"{ red = { min = "5 kB", max = "15 kB", max_p = 0.5, weight = 0.01, action = "drop" } }"#,
];

/// A scenario, with settings of some examples.
fn combine(random: &mut Rng, controls: &[Control], examples: &[Example]) -> Result<String> {
    let mut scenario: Table = scenario(random, controls).parse()?;
    for _ in 0..random.usize(..=EXAMPLES) {
        let example = &examples[random.usize(..examples.len())];
        if random.bool() {
            examples::clear_switches(&mut scenario);
        }
        let traffic = random.bool().then(|| random.usize(..GROUPS));
        example.add_to(&mut scenario, traffic);
    }
    Ok(toml::to_string(&scenario)?)
}

/// A scenario of small parts: some milliseconds, some dozens of flows.
fn scenario(random: &mut Rng, controls: &[Control]) -> String {
    let groups: Vec<_> =
        (0..random.usize(1..=GROUPS)).map(|_| &controls[random.usize(..controls.len())]).collect();
    let rate = one(random, &["1 Gb/s", "10 Gb/s", "40 Gb/s"]);
    let delay = one(random, &["100 ns", "1 us", "20 us"]);
    let topology = one(random, TOPOLOGIES).replace("RATE", rate).replace("DELAY", delay);
    let mut text = format!("version = 2\nname = \"combination\"\nseed = {}\n", random.u16(..));
    let drain = one(random, &["0 s", "20 ms"]);
    text += &format!("stop = {{ after = \"{} ms\", drain = \"{drain}\" }}\n", random.u8(1..=3));
    text += &format!("routing = {}\n", one(random, ROUTING));
    if sometimes(random, 10) {
        text += "hash_salt = \"same\"\n";
    }
    if sometimes(random, 20) {
        text += "ports = \"scheduled\"\n";
    }
    text += &format!("topology.{topology}\n");
    let talks = sometimes(random, 25).then(|| one(random, &["bcn", "qcn"]));
    if let Some(rule) = talks {
        let at = one(random, &["host", "edge_switch"]);
        let per = one(random, &["flow", "pair", "port"]);
        text +=
            &format!("reaction_points = {{ rule = {{ {rule} = {{}} }}, at = \"{at}\", per = \"{per}\" }}\n");
    }
    if sometimes(random, 30) {
        text += "record = { queues = { interval = \"50 us\" }, links = { interval = \"50 us\" }, windows = { interval = \"20 us\", flows = 20 } }\n";
    }
    if topology.starts_with("leaf_spine") && sometimes(random, 30) {
        text += "failures = [{ link = [\"rack0/tor\", \"spine0\"], from = \"300 us\", until = \"900 us\", reroute_after = \"100 us\" }]\n";
    }
    text += &switches(random, talks, &groups);
    for (number, control) in groups.into_iter().enumerate() {
        text += &group(random, number, control);
    }
    text
}

fn switches(random: &mut Rng, talks: Option<&str>, groups: &[&Control]) -> String {
    let stops = sometimes(random, 30).then(|| one(random, &["pause", "pfc", "isolation"]));
    let sharing = if stops.is_some() { "\"complete\"" } else { one(random, SHARING) };
    // What is set apart for what arrives after a stop takes room.
    let size = if stops.is_some() { "20 MB" } else { one(random, &["150 kB", "400 kB", "2 MB"]) };
    let mut text = format!("\n[switches.default]\nbuffer = {{ size = \"{size}\", sharing = {sharing} }}\n");
    text += &format!("marking = {}\n", one(random, MARKING));
    text += match stops {
        None => "",
        Some("pause") => "pause = { xoff = \"40 kB\" }\n",
        Some("pfc") => "pfc = { xoff = { fixed = \"30 kB\" } }\n",
        Some(_) => "pfc = {}\nisolation = { scheme = \"SCHEME\" }\n",
    };
    let text = text.replace("SCHEME", one(random, &["dvl", "edvl", "qcz"]));
    let mut text = text;
    if let Some(rule) = talks {
        text += &format!("congestion_point = {{ {rule} = {{ set_point = \"10 kB\" }} }}\n");
    }
    if groups.iter().any(|control| control.telemetry) || sometimes(random, 10) {
        text += "telemetry = true\n";
    }
    if groups.iter().any(|control| control.rack) || sometimes(random, 10) {
        text += "rack_agent = {}\n";
    }
    if sometimes(random, 20) {
        text += "latency = \"500 ns\"\n";
    }
    text
}

fn group(random: &mut Rng, number: usize, control: &Control) -> String {
    let mut text = format!("\n[[traffic]]\nname = \"group{number}\"\n");
    if sometimes(random, 25) {
        text += &format!("priority = {}\n", random.u8(..8));
    }
    if sometimes(random, 15) && !control.rdma {
        let cc = if control.rack { format!("{}\n", control.text) } else { String::new() };
        return format!("{text}pattern.{DATAGRAMS}\n{cc}");
    }
    text += &format!("pattern.{}\n{}\n", one(random, PATTERNS), control.text);
    if control.rdma || sometimes(random, 15) {
        text += one(
            random,
            &["rdma = {}\n", "rdma = { mtu = \"4096 B\" }\n", "rdma = { recovery = \"any_order\" }\n"],
        );
    } else if sometimes(random, 40) {
        let transports =
            ["keep_connections = true", "ack_every = 1", "handshake = false", "mtu = \"9000 B\""];
        text += &format!("transport = {{ {} }}\n", one(random, &transports));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_scenarios_and_another_draws_others() {
        let control =
            Control { text: "cc = { reno = {} }".into(), rdma: false, telemetry: false, rack: false };
        let examples = Example::all().expect("the guide has examples");
        let draw = |seed| {
            let mut random = Rng::with_seed(seed);
            let scenario =
                |_| combine(&mut random, std::slice::from_ref(&control), &examples).expect("is TOML");
            (0..20).map(scenario).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
