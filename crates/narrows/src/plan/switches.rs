//! Settings of switches, checked.

use std::collections::BTreeMap;

use narrows_proto::units::{BitRate, Bytes};
use narrows_sim::switch::{
    Beside, Dynamic, Marking, PortKind, RealQueue, Red, ScaledThreshold, Sharing, Step, Threshold,
};
use narrows_sim::topology as sim;
use narrows_sim::topology::NodeKind;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::mechanism;
use crate::scenario::{self, Scenario};

/// Settings for every switch, by node.
pub(super) fn switches(
    scenario: &Scenario,
    topology: &sim::Topology,
    kind: PortKind,
    checker: &mut Checker<'_>,
) -> Vec<Option<narrows_sim::switch::SwitchConfig>> {
    let ports = topology.ports();
    let mut classes: BTreeMap<&str, Ports> = BTreeMap::new();
    // Switches of all classes without settings of their own.
    let mut others = Ports::default();
    for (node, ports) in topology.nodes().iter().zip(&ports) {
        if let NodeKind::Switch { class, .. } = &node.kind {
            let fastest = ports.iter().map(|link| topology.link(*link).wire.rate).max();
            classes.entry(class).or_default().add(ports.len(), fastest);
            if !scenario.switches.contains_key(class) {
                others.add(ports.len(), fastest);
            }
        }
    }
    for (class, settings) in &scenario.switches {
        let path = format!("switches.{class}");
        match classes.get(class.as_str()) {
            Some(ports) => check_switch(&path, settings, ports, checker),
            None if class == "default" => check_switch(&path, settings, &others, checker),
            None => {
                let error =
                    Diagnostic::error(Code::UnknownName, format!("no switch has the class \"{class}\""));
                let known = classes.keys().copied().chain(["default"]);
                checker.error(&path, error.known(class, known));
            }
        }
    }
    let fallback = scenario.switches.get("default").cloned().unwrap_or_else(scenario::default_switch);
    let settings = |node: &sim::Node| match &node.kind {
        NodeKind::Host(_) => None,
        NodeKind::Switch { class, .. } => {
            Some(scenario.switches.get(class).unwrap_or(&fallback).config(kind))
        }
    };
    topology.nodes().iter().map(settings).collect()
}

/// Ports of the switches of one class.
#[derive(Default)]
struct Ports {
    /// Of the switch that has most.
    most: usize,
    /// The highest rate of all.
    fastest: BitRate,
}

impl Ports {
    fn add(&mut self, count: usize, fastest: Option<BitRate>) {
        self.most = self.most.max(count);
        self.fastest = self.fastest.max(fastest.unwrap_or(BitRate::ZERO));
    }
}

fn check_switch(path: &str, switch: &scenario::Switch, ports: &Ports, checker: &mut Checker<'_>) {
    let (size, sharing) = (switch.buffer.size, switch.buffer.sharing);
    checker.delay(&format!("{path}.latency"), switch.latency);
    if let Sharing::Dynamic(Dynamic { alpha }) = sharing
        && !(Dynamic::LEAST..=1024.0).contains(&alpha)
    {
        let message = format!("alpha = {alpha}, expected at least 1/65536, at most 1024");
        checker.error(
            &format!("{path}.buffer.sharing.dynamic.alpha"),
            Diagnostic::error(Code::OutOfRange, message),
        );
        return;
    }
    // Static parts are smallest on the switch with the most ports.
    let most_ports = ports.most.max(1);
    let largest = switch.buffer.largest_queue(most_ports);
    mechanism::all().for_each(|mechanism| mechanism.check_queues(path, switch, largest, checker));
    mechanism::all().for_each(|mechanism| mechanism.check_switch(path, switch, checker));
    let reachable = |key: &str, threshold: Bytes, checker: &mut Checker<'_>| {
        if threshold >= largest {
            let message = format!("{key} = {threshold}, but a queue can hold at most {largest}");
            let error = Diagnostic::error(Code::Threshold, message);
            let error = match sharing {
                Sharing::Dynamic(Dynamic { alpha }) => {
                    error.help(format!("αB/(1 + α) of {size} with α = {alpha}"))
                }
                Sharing::Static => error.help(format!("{size} shared by {most_ports} ports")),
                Sharing::PerPort | Sharing::Complete => error,
            };
            checker.error(&format!("{path}.marking.{key}"), error);
        }
    };
    let step = |key: &str, step: &Step, checker: &mut Checker<'_>| {
        if let Threshold::Scaled(ScaledThreshold { per: BitRate::ZERO, .. }) = step.k {
            let error = Diagnostic::error(Code::OutOfRange, "per = 0 b/s, expected more than 0 b/s");
            checker.error(&format!("{path}.marking.{key}.k.per"), error);
        } else {
            reachable(&format!("{key}.k"), step.k.at(ports.fastest), checker);
        }
    };
    let red = |key: &str, red: &Red, checker: &mut Checker<'_>| {
        reachable(&format!("{key}.max"), red.max, checker);
        for (number, at) in red.at.iter().enumerate() {
            reachable(&format!("{key}.at.{number}.max"), at.max, checker);
        }
        check_red(&format!("{path}.marking.{key}"), red, checker);
    };
    match &switch.marking {
        Marking::Off | Marking::Sojourn(_) | Marking::Codel(_) | Marking::Pie(_) => {}
        Marking::Step(settings) => step("step", settings, checker),
        Marking::Red(settings) => red("red", settings, checker),
        Marking::Phantom(phantom) => {
            let beside = match &phantom.beside {
                None => return,
                Some(Beside::Either(_)) => "phantom.beside.either",
                Some(Beside::Both(_)) => "phantom.beside.both",
            };
            match phantom.beside.as_ref().map(Beside::real) {
                Some(RealQueue::Step(settings)) => step(&format!("{beside}.step"), settings, checker),
                Some(RealQueue::Red(settings)) => red(&format!("{beside}.red"), settings, checker),
                None => {}
            }
        }
    }
}

fn check_red(path: &str, red: &Red, checker: &mut Checker<'_>) {
    let weight = red.weight;
    let mut unless = |holds: bool, key: &str, message: String| {
        if !holds {
            checker.error(&format!("{path}.{key}"), Diagnostic::error(Code::OutOfRange, message));
        }
    };
    let own = (String::new(), red.min, red.max, red.max_p);
    let at = red.at.iter().enumerate();
    let at = at.map(|(number, at)| (format!("at.{number}."), at.min, at.max, at.max_p));
    for (key, min, max, max_p) in std::iter::once(own).chain(at) {
        unless(min < max, &format!("{key}min"), format!("min = {min}, expected less than max = {max}"));
        let message = format!("max_p = {max_p}, expected above 0, at most 1");
        unless(max_p > 0.0 && max_p <= 1.0, &format!("{key}max_p"), message);
    }
    unless(
        weight > 0.0 && weight <= 1.0,
        "weight",
        format!("weight = {weight}, expected above 0, at most 1"),
    );
}
