//! Who sends to whom: pairs that are listed, taken in order, or drawn. And when flows start that follow each other.

use narrows_proto::units::Span;
use narrows_sim::HostId;
use narrows_sim::traffic::FlowSpec;
use narrows_sim::workload::{Partners, Stagger};

use super::Builder;
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, PlannedPairing, select};
use crate::scenario::{Between, Names, Pairing};

/// Pairing settings of a pattern.
pub(super) struct Asked<'a> {
    /// The pattern.
    pub(super) key: &'a str,
    pub(super) pairing: Option<Pairing>,
    pub(super) pairs: Option<&'a [(String, String)]>,
    pub(super) between: Between,
    pub(super) from: Option<&'a Names>,
    pub(super) to: Option<&'a Names>,
}

/// [`Asked`] of a pattern that has all of these keys.
macro_rules! asked {
    ($key:literal, $pattern:expr) => {
        Asked {
            key: $key,
            pairing: $pattern.pairing,
            pairs: $pattern.pairs.as_deref(),
            between: $pattern.between,
            from: $pattern.from.as_ref(),
            to: $pattern.to.as_ref(),
        }
    };
}
pub(super) use asked;

impl Builder<'_> {
    pub(super) fn partners(&mut self, asked: &Asked<'_>, checker: &mut Checker<'_>) -> Option<Partners> {
        let (pairing, partners) = match (asked.pairs, asked.pairing.unwrap_or(Pairing::Auto)) {
            (Some(pairs), _) => {
                (PlannedPairing::Listed, Partners::Listed(self.listed(pairs, asked, checker)?))
            }
            (None, Pairing::InOrder) => match self.in_order(asked) {
                Ok(pairs) => (PlannedPairing::InOrder, Partners::Listed(pairs)),
                Err(error) => {
                    self.error(&format!("{}.pairing", asked.key), error, checker);
                    return None;
                }
            },
            (None, pairing) => {
                let both_given = asked.from.is_some() && asked.to.is_some();
                match (both_given && pairing == Pairing::Auto).then(|| self.in_order(asked)) {
                    Some(Ok(pairs)) => (PlannedPairing::InOrder, Partners::Listed(pairs)),
                    _ => {
                        let pairs = self.pairs(asked.key, asked.between, (asked.from, asked.to), checker)?;
                        (PlannedPairing::Random, Partners::Drawn(pairs))
                    }
                }
            }
        };
        self.planned.pairing = Some(pairing);
        Some(partners)
    }

    /// The pairs as they are written.
    fn listed(
        &self,
        pairs: &[(String, String)],
        asked: &Asked<'_>,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<(HostId, HostId)>> {
        let before = checker.mistakes();
        let key = format!("{}.pairs", asked.key);
        let others = [
            ("from", asked.from.is_some()),
            ("to", asked.to.is_some()),
            ("between", asked.between != Between::Any),
            ("pairing", asked.pairing.is_some()),
        ];
        for (other, _) in others.iter().filter(|(_, given)| *given) {
            let message = format!("`pairs` says who sends to whom, and so does `{other}`");
            let error = Diagnostic::error(Code::Conflict, message).help("leave out one of them");
            self.error(&format!("{}.{other}", asked.key), error, checker);
        }
        if pairs.is_empty() {
            let message = "`pairs` is empty, expected at least one pair of hosts";
            self.error(&key, Diagnostic::error(Code::NoTraffic, message), checker);
        }
        let topology = &self.ground.network.topology;
        let mut listed = Vec::with_capacity(pairs.len());
        for (number, (from, to)) in pairs.iter().enumerate() {
            let ends = [from, to].map(|name| select::host(topology, name));
            for (side, end) in ends.iter().enumerate() {
                if let Err(error) = end {
                    self.error(&format!("{key}.{number}.{side}"), error.clone(), checker);
                }
            }
            let [Ok(from), Ok(to)] = ends else { continue };
            if from == to {
                let message = format!("host \"{}\" would send to itself", topology.host_name(from));
                self.error(&format!("{key}.{number}"), Diagnostic::error(Code::Pairing, message), checker);
            }
            listed.push((from, to));
        }
        (checker.mistakes() == before).then_some(listed)
    }

    /// The first sender with the first receiver, and so on, if that is possible.
    fn in_order(&self, asked: &Asked<'_>) -> Result<Vec<(HostId, HostId)>, Diagnostic> {
        let topology = &self.ground.network.topology;
        let from = select::hosts_in_order(topology, asked.from)?;
        let to = select::hosts_in_order(topology, asked.to)?;
        if from.is_empty() && to.is_empty() {
            let message = "`from` and `to` are empty, expected at least one host in each";
            return Err(Diagnostic::error(Code::NoTraffic, message));
        }
        if from.len() != to.len() {
            let message =
                format!("hosts cannot be paired in order: `from` has {}, `to` has {}", from.len(), to.len());
            let help = "as many on both sides are needed; or pairing = \"random\", or pairs = [[\"sender\", \"receiver\"], …]";
            return Err(Diagnostic::error(Code::Pairing, message).help(help));
        }
        let places = self.ground.places;
        let allowed = |(from, to): &(HostId, HostId)| {
            let same = |place: &[u32]| place[from.index()] == place[to.index()];
            from != to
                && match asked.between {
                    Between::Any => true,
                    Between::SameRack => same(&places.rack),
                    Between::OtherRack => !same(&places.rack),
                    Between::SameDc => same(&places.dc),
                    Between::OtherDc => !same(&places.dc),
                }
        };
        let pairs: Vec<_> = from.into_iter().zip(to).collect();
        match pairs.iter().find(|pair| !allowed(pair)) {
            None => Ok(pairs),
            Some(&(from, to)) => {
                let (from_name, to_name) = (topology.host_name(from), topology.host_name(to));
                let message = if from == to {
                    format!("paired in order, host \"{from_name}\" would send to itself")
                } else {
                    format!(
                        "paired in order, \"{from_name}\" would send to \"{to_name}\", which `between` does not allow"
                    )
                };
                Err(Diagnostic::error(Code::Pairing, message))
            }
        }
    }

    /// The number that is asked for, or that of the pairs.
    pub(super) fn one_for_each_pair(
        &self,
        key: &str,
        asked: Option<u32>,
        partners: Option<&Partners>,
        checker: &mut Checker<'_>,
    ) -> Option<u32> {
        match (asked, partners?) {
            (Some(number), _) => self.at_least_one(key, number, checker),
            (None, Partners::Listed(pairs)) => u32::try_from(pairs.len()).ok(),
            (None, Partners::Drawn(_)) => {
                let (pattern, name) = key.split_once('.').unwrap_or(("", key));
                let message = format!(
                    "missing field `{name}`: pairs are drawn at random, so their number must be said"
                );
                self.error(pattern, Diagnostic::error(Code::WrongType, message), checker);
                None
            }
        }
    }

    pub(super) fn stagger(
        &self,
        spread: Span,
        every: Option<Span>,
        checker: &mut Checker<'_>,
    ) -> Option<Stagger> {
        match every {
            None => Some(Stagger::Over(spread)),
            Some(every) if spread == Span::ZERO => Some(Stagger::Every(every)),
            Some(_) => {
                let message = "`spread` says when flows start, and so does `start_every`";
                let error = Diagnostic::error(Code::Conflict, message).help("leave out one of them");
                self.error("long_lived.start_every", error, checker);
                None
            }
        }
    }

    /// The flows, each so much later than the one before.
    pub(super) fn staggered(&self, mut flows: Vec<FlowSpec>, every: Option<Span>) -> Vec<FlowSpec> {
        let every = every.unwrap_or_default();
        for (number, flow) in (0..).zip(&mut flows) {
            flow.start += every.saturating_mul(number);
        }
        flows.retain(|flow| flow.start < self.until);
        flows
    }
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Checked;
    use crate::document::Document;
    use crate::plan::{Plan, PlannedPairing};
    use crate::scenario::Scenario;

    /// Two racks of four hosts, and flows of this pattern.
    fn document(pattern: &str) -> Checked<Document> {
        let text = format!(
            "version = 1\nname = \"pairs\"\nstop = {{ after = \"1 s\" }}\n\
             topology.leaf_spine = {{ racks = 2, hosts_per_rack = 4, spines = 1, host_rate = \"1 Gb/s\", \
             uplink_rate = \"1 Gb/s\", delay = \"1 us\" }}\n\
             [[traffic]]\nname = \"all\"\ncc = {{ reno = {{}} }}\npattern = {{ {pattern} }}\n"
        );
        Document::parse("pairs.toml", text, "")
    }

    fn plan(pattern: &str) -> Checked<Plan> {
        Plan::new(document(pattern)?)
    }

    fn pairs_of(plan: &Plan) -> Vec<String> {
        let name = |host| plan.network.topology.host_name(host).replace("rack", "").replace("/host", ".");
        plan.traffic.flows.iter().map(|flow| format!("{}-{}", name(flow.from), name(flow.to))).collect()
    }

    fn paired(pattern: &str) -> (PlannedPairing, Vec<String>) {
        let plan = plan(pattern).unwrap_or_else(|error| panic!("{error}"));
        (plan.groups[0].pairing.expect("it has pairs"), pairs_of(&plan))
    }

    fn refused(pattern: &str) -> String {
        let error = plan(pattern).expect_err("refused").0.swap_remove(0);
        format!("{} {}", error.code.name(), error.message)
    }

    #[test]
    fn lists_of_one_length_are_paired_in_the_order_in_which_they_are_written() {
        let pattern =
            r#"long_lived = { from = ["rack0/host2", "rack0/host0"], to = ["rack1/host0", "rack1/host3"] }"#;
        let expected = ["0.2-1.0", "0.0-1.3"].map(String::from).to_vec();
        assert_eq!(paired(pattern), (PlannedPairing::InOrder, expected));
        let twice = r#"long_lived = { flows = 6, from = "rack0/*", to = "rack1/*" }"#;
        let expected =
            ["0.0-1.0", "0.1-1.1", "0.2-1.2", "0.3-1.3", "0.0-1.0", "0.1-1.1"].map(String::from).to_vec();
        assert_eq!(paired(twice), (PlannedPairing::InOrder, expected));
    }

    #[test]
    fn where_pairing_in_order_is_impossible_pairs_are_random_unless_it_was_asked_for() {
        for (sides, message) in [
            (
                r#"from = "rack0/*", to = "*""#,
                "N0142 hosts cannot be paired in order: `from` has 4, `to` has 8",
            ),
            (r#"from = "*", to = "*""#, "N0142 paired in order, host \"rack0/host0\" would send to itself"),
            (
                r#"from = "rack0/*", to = "rack1/*", between = "same_rack""#,
                "N0142 paired in order, \"rack0/host0\" would send to \"rack1/host0\", which `between` does not allow",
            ),
            ("from = [], to = []", "N0009 `from` and `to` are empty, expected at least one host in each"),
        ] {
            assert_eq!(
                refused(&format!("long_lived = {{ flows = 4, {sides}, pairing = \"in_order\" }}")),
                message
            );
        }
        for sides in [r#"from = "rack0/*", to = "*""#, r#"from = "*", to = "*""#, r#"from = "rack0/*""#, ""] {
            let comma = if sides.is_empty() { "" } else { "," };
            assert_eq!(
                paired(&format!("long_lived = {{ flows = 4{comma} {sides} }}")).0,
                PlannedPairing::Random
            );
        }
    }

    #[test]
    fn listed_pairs_are_taken_as_they_are() {
        let (how, pairs) = paired(
            r#"long_lived = { pairs = [["rack1/host0", "rack0/host0"], ["rack1/host1", "rack0/host0"]] }"#,
        );
        assert_eq!((how, pairs), (PlannedPairing::Listed, ["1.0-0.0", "1.1-0.0"].map(String::from).to_vec()));
        for (settings, message) in [
            ("pairs = []", "N0009 `pairs` is empty, expected at least one pair of hosts"),
            (
                r#"pairs = [["rack0/host0", "rack0/host0"]]"#,
                "N0142 host \"rack0/host0\" would send to itself",
            ),
            (r#"pairs = [["rack0/*", "rack1/host0"]]"#, "N0142 \"rack0/*\" stands for 4 hosts, expected one"),
            (r#"pairs = [["rack0/host9", "rack1/host0"]]"#, "N0005 no host is called \"rack0/host9\""),
            (
                r#"pairs = [["rack0/host0", "rack1/host0"]], from = "rack0/*""#,
                "N0019 `pairs` says who sends to whom, and so does `from`",
            ),
            (
                r#"flows = 1, spread = "1 ms", start_every = "1 ms""#,
                "N0019 `spread` says when flows start, and so does `start_every`",
            ),
            ("", "N0003 missing field `flows`: pairs are drawn at random, so their number must be said"),
        ] {
            assert_eq!(refused(&format!("long_lived = {{ {settings} }}")), message);
        }
    }

    #[test]
    fn each_flow_starts_so_much_later_than_the_one_before() {
        let ms = |pattern: &str| -> Vec<u64> {
            let plan = plan(pattern).unwrap_or_else(|error| panic!("{error}"));
            let flows = plan.traffic.flows.iter().map(|flow| flow.start.as_ps() / 1_000_000_000);
            let generators =
                plan.traffic.generators.iter().map(|generator| generator.start.as_ps() / 1_000_000_000);
            if plan.traffic.generators.is_empty() { flows.collect() } else { generators.collect() }
        };
        let every = r#"start_every = "300 ms""#;
        // What would start at 1.2 s is left out: traffic ends after 1 s.
        assert_eq!(ms(&format!(r#"long_lived = {{ flows = 5, {every} }}"#)), [0, 300, 600, 900]);
        assert_eq!(ms(&format!("permutation = {{ {every} }}")), [0, 300, 600, 900]);
        assert_eq!(
            ms(&format!(r#"all_to_all = {{ size = "1 kB", among = "rack0/*", {every} }}"#)),
            [0, 300, 600, 900]
        );
        let bursts = r#"rate = "1 Mb/s", on = { constant = "20 ms" }, off = { constant = "1 s" }"#;
        let error = plan(&format!("on_off = {{ sources = 3, {bursts}, {every} }}"))
            .expect_err("datagrams have no control");
        assert!(error.0[0].message.contains("datagrams"), "{error}");
    }

    #[test]
    fn what_was_chosen_is_stored_and_what_was_stored_before_there_was_a_choice_stays_random() {
        let pattern =
            |more: &str| format!(r#"long_lived = {{ flows = 4, from = "rack0/*", to = "rack1/*"{more} }}"#);
        let in_order = plan(&pattern("")).expect("fits");
        let random = plan(&pattern(r#", pairing = "random""#)).expect("fits");
        assert!(in_order.text.contains("pairing = \"in_order\""), "{}", in_order.text);
        assert_ne!(pairs_of(&in_order), pairs_of(&random));
        let again = |text: String| {
            Plan::new(Document::parse("scenario.toml", text, "").expect("TOML")).expect("fits")
        };
        assert_eq!(pairs_of(&again(in_order.text.clone())), pairs_of(&in_order));
        let old = in_order.text.replace("pairing = \"in_order\"\n", "");
        assert_ne!(old, in_order.text);
        assert_eq!(pairs_of(&again(old)), pairs_of(&random));
    }

    #[test]
    fn a_scenario_that_is_written_out_before_it_is_planned_keeps_its_pairs() {
        let pattern = r#"long_lived = { flows = 4, from = "rack0/*", to = "rack1/*" }"#;
        let document = document(pattern).expect("TOML");
        let written = Scenario::from_document(&mut document.clone()).expect("fits").to_toml();
        let again = Document::parse("written.toml", written.clone(), "").expect("TOML");
        assert_eq!(Scenario::from_document(&mut again.clone()).expect("fits").to_toml(), written);
        assert_eq!(pairs_of(&Plan::new(again).expect("fits")), pairs_of(&Plan::new(document).expect("fits")));
    }
}
