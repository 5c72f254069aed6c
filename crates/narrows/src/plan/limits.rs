//! Limits on the size of a scenario. What is larger is refused before it is built.

/// The largest network and the most traffic that are planned.
///
/// The default stands for a few gigabytes and less than a minute. What is larger is almost always a slip of a unit, and would
/// use up the machine before anything could be said about it. Whether there is memory for the run itself is another
/// question; see [`Plan::memory`](super::Plan::memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Links, both directions counted as one.
    pub links: u64,
    /// Steps in which all routes are found: for each switch with hosts, every switch and every direction of every link
    /// between switches is looked at.
    pub route_steps: u64,
    /// Flows of all traffic together. A client counts once for each host it may send to.
    pub flows: u64,
    /// Hosts among which the senders of incasts are drawn, counted anew for each time.
    pub draws: u64,
    /// Flows that are drawn of a group that has one after the other as long as the run lasts, before it is known that the
    /// scenario has no mistakes and there is memory for all. With many groups less, together no more than ten times as many.
    pub outlined: u64,
}

impl Limits {
    /// Flows that are drawn of each of so many groups for an outline.
    pub(super) fn outlined_of(&self, groups: usize) -> u64 {
        const LEAST: u64 = 100;
        self.outlined.min(10 * self.outlined / groups.max(1) as u64).max(LEAST.min(self.outlined))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            links: 4_000_000,
            route_steps: 5_000_000_000,
            flows: 50_000_000,
            draws: 2_000_000_000,
            outlined: 50_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Code, Rejection};
    use crate::document::Document;
    use crate::plan::Plan;

    const TEXT: &str = r#"
version = 1
name = "large"
stop = { after = "1 s" }
topology.star = { hosts = 300, rate = "10 Gb/s", delay = "1 us" }

[[traffic]]
name = "all"
pattern = { permutation = { size = "1 B" } }
cc = { reno = {} }
"#;

    /// The codes of what is wrong with the scenario after these overrides.
    fn mistakes(overrides: &[&str]) -> Vec<Code> {
        let codes = |rejection: Rejection| rejection.0.iter().map(|mistake| mistake.code).collect();
        planned(overrides, Limits::default()).map_or_else(codes, |_| Vec::new())
    }

    fn planned(overrides: &[&str], limits: Limits) -> crate::diagnostic::Checked<Plan> {
        let mut document = Document::parse("large.toml", TEXT, "").unwrap();
        for assignment in overrides {
            document.set(assignment).unwrap();
        }
        Plan::within(document, limits)
    }

    #[test]
    fn networks_beyond_the_limits_are_refused_before_they_are_built() {
        let most = u32::MAX;
        let two = r#"rate = "1 Gb/s", delay = "1 us""#;
        let four = r#"host_rate = "1 Gb/s", uplink_rate = "1 Gb/s", delay = "1 us""#;
        let wan = format!("wan = {{ {two}, borders = {most} }}");
        for topology in [
            format!("{{ star = {{ hosts = {most}, {two} }} }}"),
            format!("{{ fat_tree = {{ k = {}, {two} }} }}", most - 1),
            format!("{{ kary_tree = {{ k = {most}, levels = {most}, {two} }} }}"),
            format!("{{ kary_tree = {{ k = 2, levels = 18, {two} }} }}"),
            format!(
                "{{ leaf_spine = {{ racks = {most}, hosts_per_rack = {most}, spines = {most}, {four} }} }}"
            ),
            format!(
                "{{ cross_dc = {{ datacenters = {most}, fabric.star = {{ hosts = {most}, {two} }}, {wan} }} }}"
            ),
            format!(
                "{{ cross_dc = {{ datacenters = 3000, fabric.star = {{ hosts = 2, {two} }}, wan = {{ {two} }} }} }}"
            ),
            // 40 000 ports at one switch, 40 000 racks, and routes from 10 000 racks over 600 000 links.
            format!("{{ star = {{ hosts = 40000, {two} }} }}"),
            format!("{{ leaf_spine = {{ racks = 40000, hosts_per_rack = 1, spines = 2, {four} }} }}"),
            format!("{{ leaf_spine = {{ racks = 10000, hosts_per_rack = 1, spines = 60, {four} }} }}"),
            // The same 600 000 links, and more than there are numbers for.
            format!(
                "{{ leaf_spine = {{ racks = 10000, hosts_per_rack = 1, spines = 2, links_per_spine = 30, {four} }} }}"
            ),
            format!(
                "{{ leaf_spine = {{ racks = {most}, hosts_per_rack = {most}, spines = {most}, links_per_spine = {most}, {four} }} }}"
            ),
        ] {
            let codes = mistakes(&[&format!("topology={topology}")]);
            assert!(
                !codes.is_empty() && codes.iter().all(|code| *code == Code::Topology),
                "{topology}: {codes:?}"
            );
        }
    }

    #[test]
    fn parallel_links_count_one_by_one() {
        let topology = r#"topology={ leaf_spine = {
            racks = 4, hosts_per_rack = 3, spines = 2, links_per_spine = 5, host_rate = "1 Gb/s", uplink_rate = "1 Gb/s",
            delay = "1 us" } }"#;
        let links = 4 * (3 + 2 * 5);
        assert!(planned(&[topology], Limits { links, ..Limits::default() }).is_ok());
        assert!(planned(&[topology], Limits { links: links - 1, ..Limits::default() }).is_err());
    }

    #[test]
    fn a_switch_may_not_be_higher_than_any_network_is() {
        let topology = r#"topology={ explicit = {
            hosts = ["a", "b"], switches = [{ name = "s", tier = 4294967295 }],
            links = [
                { between = ["a", "s"], rate = "1 Gb/s", delay = "1 us" },
                { between = ["b", "s"], rate = "1 Gb/s", delay = "1 us" },
            ] } }"#;
        assert_eq!(mistakes(&[topology, "routing=d_mod_k"]), [Code::Topology]);
    }

    #[test]
    fn traffic_beyond_the_limits_is_refused_before_it_is_laid_out() {
        let all = "traffic.0.pattern";
        for pattern in [
            r#"{ long_lived = { flows = 4294967295 } }"#,
            r#"{ random = { flows = 4294967295, within = "1 s", sizes = "websearch" } }"#,
            r#"{ incast = { fan_in = 299, size = "1 B", times = 4294967295 } }"#,
            r#"{ incast = { fan_in = 1, size = "1 B", times = 40000000 } }"#,
            r#"{ closed_loop = { clients = 4294967295, sizes = "websearch" } }"#,
            r#"{ poisson = { load = 1, of = "host_links", sizes = { constant = "1 B" } } }"#,
            r#"{ rpc = { load = 0.5, of = "host_links", sizes = { constant = "1 B" } } }"#,
            r#"{ rpc = { load = 0.5, of = "host_links", sizes = { constant = "1 kB" }, fan_out = 4294967295 } }"#,
        ] {
            assert_eq!(mistakes(&[&format!("{all}={pattern}")]), [Code::OutOfRange], "{pattern}");
        }
        let pattern = r#"{ on_off = { sources = 4294967295, rate = "1 Mb/s", on.constant = "1 s", off.constant = "1 s" } }"#;
        let datagrams = format!(r#"traffic=[{{ name = "all", pattern = {pattern} }}]"#);
        assert_eq!(mistakes(&[&datagrams]), [Code::OutOfRange]);
    }

    #[test]
    fn the_limit_holds_for_all_traffic_together() {
        let two = r#"traffic=[
            { name = "a", pattern = { permutation = {} }, cc = { reno = {} } },
            { name = "b", pattern = { permutation = {} }, cc = { reno = {} } },
        ]"#;
        assert!(planned(&[two], Limits { flows: 600, ..Limits::default() }).is_ok());
        assert!(planned(&[two], Limits { flows: 599, ..Limits::default() }).is_err());
    }

    #[test]
    fn only_the_incasts_that_start_in_time_count() {
        let pattern = r#"{ incast = { fan_in = 1, size = "1 B", times = 4294967295, period = "300 ms" } }"#;
        let plan = planned(&[&format!("traffic.0.pattern={pattern}")], Limits::default()).unwrap();
        assert_eq!(plan.traffic.flows.len(), 4);
    }

    #[test]
    fn flows_that_come_too_close_for_picoseconds_are_refused() {
        let pattern = r#"{ poisson = { load = 100, of = "host_links", sizes = { constant = "1 B" } } }"#;
        let codes = mistakes(&[
            r#"stop.after="1 ps""#,
            r#"topology.star.rate="100 Tb/s""#,
            &format!("traffic.0.pattern={pattern}"),
        ]);
        assert_eq!(codes, [Code::OutOfRange]);
    }

    #[test]
    fn a_burst_is_at_least_one_datagram() {
        // 1538 B at 1.538 Gb/s take 8 us.
        let pattern = |on: &str| {
            format!(
                r#"traffic=[{{ name = "all", pattern.on_off = {{
                    sources = 1, rate = "1.538 Gb/s", on.exponential = "{on}", off.constant = "0 s" }} }}]"#
            )
        };
        assert_eq!(mistakes(&[&pattern("8 us")]), []);
        assert_eq!(mistakes(&[&pattern("7.999999 us")]), [Code::OutOfRange]);
    }

    #[test]
    fn sums_over_the_fastest_links_and_largest_sizes_fit() {
        let plan = planned(
            &[
                r#"stop.after="1 us""#,
                r#"topology={ leaf_spine = { racks = 500, hosts_per_rack = 400, spines = 1, host_rate = "100 Tb/s", uplink_rate = "100 Tb/s", delay = "1 h" } }"#,
                r#"switches={ default = { buffer = { size = "18446744073709551615 B" } } }"#,
                r#"traffic.0.pattern={ poisson = { load = 1, of = "host_links", sizes = { constant = "1152921504606846976 B" } } }"#,
                r#"transport={ mtu = "65000 B", headers = "64999 B", min_packet = "1 B" }"#,
            ],
            Limits::default(),
        );
        // No flow starts so soon, but everything was computed.
        assert_eq!(
            plan.map_err(|rejection| rejection.to_string().contains("nothing is sent")).err(),
            Some(true)
        );
        let huge = [
            r#"topology.star={ hosts = 300, rate = "100 Tb/s", delay = "1 h" }"#,
            r#"transport={ mtu = "2 B", headers = "1 B", framing = "0 B", min_packet = "1 B" }"#,
        ];
        let plan = planned(&huge, Limits::default()).unwrap();
        assert_eq!(plan.memory(usize::from(u16::MAX)).get(), 1 << 50);
    }

    #[test]
    fn a_flood_of_mistakes_is_cut_short() {
        let groups: Vec<_> = (0..1000).map(|_| "{ name = \"\", pattern = { permutation = {} } }").collect();
        let codes = mistakes(&[&format!("traffic=[{}]", groups.join(",")), "topology.star.hosts=0"]);
        assert_eq!(codes.len(), crate::document::MOST_MISTAKES + 1);
    }
}
