//! Paths as scenario files that `narrows run` takes.

use std::fmt::Write;

use super::control::Control;
use super::element::{Element, Step};
use super::path::{LENGTH, MEASURED_FROM, Path, Queue};

/// The two ends of the bottleneck.
pub(super) const SWITCH: &str = "switch";
pub(super) const RECEIVER: &str = "receiver";
/// Delay of the bottleneck itself; the rest of a round trip is that of a sender's own link.
const DELAY_MS: f64 = 1.0;
/// Rate of all other links.
const ACCESS: &str = "1 Gb/s";

/// Records that a scenario asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Nothing,
    Queue,
    /// The queue, and what each sender sends.
    All,
}

/// The scenario of a path on which `tested` is under test. It begins with `title`, lines of comments.
pub(super) fn scenario(
    path: &Path,
    control: &Control,
    tested: &str,
    [name, title]: [&str; 2],
    seed: u64,
    record: Record,
) -> String {
    let (mut hosts, mut links, mut traffic) = (Vec::new(), Vec::new(), String::new());
    let rate = path.rate;
    let loss = match path.loss {
        1.. if path.run == 1 => format!(", error_rate = {}", of_packets(path.loss)),
        _ => String::new(),
    };
    links.push(format!(
        "{{ between = [\"{SWITCH}\", \"{RECEIVER}\"], rate = \"{rate} kb/s\", reverse_rate = \"{ACCESS}\", delay = \"{DELAY_MS} ms\"{loss} }}"
    ));
    let mut host = |name: &str, rtt: u32| {
        let delay = f64::from(rtt) / 2.0 - DELAY_MS;
        links.push(format!(
            "{{ between = [\"{name}\", \"{SWITCH}\"], rate = \"{ACCESS}\", delay = \"{delay} ms\" }}"
        ));
        hosts.push(format!("\"{name}\""));
    };
    for (number, flow) in path.tested.iter().enumerate() {
        let name = format!("tested{}", number + 1);
        host(&name, flow.rtt);
        long_lived(&mut traffic, &name, 1, &control.written(tested), flow.start);
    }
    for (number, element) in path.elements.iter().enumerate() {
        match element {
            Element::Rivals(rivals) => {
                let name = format!("rival{}", number + 1);
                host(&name, rivals.rtt);
                long_lived(
                    &mut traffic,
                    &name,
                    rivals.flows,
                    &control.written(&rivals.control),
                    rivals.start,
                );
            }
            Element::Bursts(bursts) => {
                let name = format!("bursts{}", number + 1);
                host(&name, path.tested[0].rtt);
                let (on, off, rate) = (bursts.on, bursts.off, bursts.rate(path.rate).round());
                let pattern = format!(
                    "{{ on_off = {{ rate = \"{rate} kb/s\", on = {{ constant = \"{on} ms\" }}, off = {{ constant = \"{off} ms\" }}, pairs = [[\"{name}\", \"{RECEIVER}\"]] }} }}"
                );
                group(&mut traffic, &name, &pattern, None, bursts.start);
            }
            Element::Rate(_) | Element::Delay(_) | Element::Loss(_) => {}
        }
    }
    let links: String = links.iter().map(|link| format!("    {link},\n")).collect();
    let hosts = hosts.join(", ");
    let (length, from) = (f64::from(LENGTH) / 1e3, f64::from(MEASURED_FROM) / 1e3);
    let (switches, changes) = (switches(path), changes(path));
    let record = match record {
        Record::Nothing => String::new(),
        Record::Queue => format!("\n[record]\nqueues = {{ interval = \"10 ms\", of = \"{SWITCH}\" }}\n"),
        Record::All => format!(
            "\n[record]\nqueues = {{ interval = \"10 ms\", of = \"{SWITCH}\" }}\nlinks = {{ interval = \"100 ms\" , of = [{hosts}] }}\n"
        ),
    };
    format!(
        "{title}version = 2\nname = \"{name}\"\nseed = {seed}\nstop = {{ after = \"{length} s\" }}\nmeasure = {{ from = \"{from} s\" }}\n\n\
         [topology.explicit]\nhosts = [{hosts}, \"{RECEIVER}\"]\nswitches = [{{ name = \"{SWITCH}\" }}]\nlinks = [\n{links}]\n\n\
         [switches.default]\n{switches}{changes}{traffic}{record}"
    )
}

/// A probability in hundred thousandths.
fn of_packets(packets: u32) -> f64 {
    f64::from(packets) / 1e5
}

/// Steps of the rate, the delay and losses, and losses in a row.
fn changes(path: &Path) -> String {
    let list = |key: &str, steps: Vec<Step>, value: &dyn Fn(u32) -> String| {
        let steps: Vec<_> =
            steps.iter().map(|step| format!("[\"{} ms\", {}]", step.at * 100, value(step.to))).collect();
        let steps = steps.join(", ");
        (!steps.is_empty()).then(|| format!("{key} = {{ at = [{steps}] }}"))
    };
    let rate = |percent: u32| format!("\"{} kb/s\"", u64::from(path.rate) * u64::from(percent) / 100);
    let delay = |more: u32| format!("\"{} ms\"", DELAY_MS + f64::from(more));
    // A mean run of 1/r packets, and p/(p + r) of all packets lost.
    let (lost, recovery) = (of_packets(path.loss), 1.0 / f64::from(path.run));
    let in_a_row = (path.run > 1).then(|| {
        let p = recovery * lost / (1.0 - lost);
        format!("gilbert_elliott = {{ p = {p}, r = {recovery} }}")
    });
    let alone = list("steps", path.steps(Element::as_loss), &|packets| of_packets(packets).to_string());
    let parts = [
        ("rate", vec![list("steps", path.steps(Element::as_rate), &rate)]),
        ("delay", vec![list("steps", path.steps(Element::as_delay), &delay)]),
        ("loss", vec![alone, in_a_row]),
    ];
    let mut keys = String::new();
    for (key, values) in parts {
        let values: Vec<_> = values.into_iter().flatten().collect();
        if !values.is_empty() {
            let _ = writeln!(keys, "{key} = {{ {} }}", values.join(", "));
        }
    }
    if keys.is_empty() {
        return keys;
    }
    format!("\n[[paths]]\nlink = [\"{SWITCH}\", \"{RECEIVER}\"]\ndirection = \"forth\"\n{keys}")
}

fn switches(path: &Path) -> String {
    let buffer = format!("buffer = {{ size = \"{} B\", sharing = \"per_port\" }}\n", path.buffer_bytes());
    let management = match path.queue {
        Queue::DropTail => String::new(),
        Queue::Codel => "marking = { codel = {} }\n".to_owned(),
        Queue::Pie => "marking = { pie = {} }\n".to_owned(),
        Queue::FqCodel => "fq_codel = {}\n".to_owned(),
        Queue::DualPi2 => "dualpi2 = {}\n".to_owned(),
        Queue::Step(k) => format!("marking = {{ step = {{ k = \"{} B\" }} }}\n", path.bytes(k).max(3_100)),
    };
    buffer + &management
}

fn long_lived(into: &mut String, name: &str, flows: u32, control: &str, start: u32) {
    let pattern = format!("{{ long_lived = {{ flows = {flows}, pairs = [[\"{name}\", \"{RECEIVER}\"]] }} }}");
    group(into, name, &pattern, Some(control), start);
}

fn group(into: &mut String, name: &str, pattern: &str, control: Option<&str>, start: u32) {
    let control = control.map_or_else(String::new, |control| format!("cc = {control}\n"));
    let start = match start {
        0 => String::new(),
        start => format!("start = \"{} ms\"\n", start * 100),
    };
    let _ = write!(into, "\n[[traffic]]\nname = \"{name}\"\npattern = {pattern}\n{control}{start}");
}
