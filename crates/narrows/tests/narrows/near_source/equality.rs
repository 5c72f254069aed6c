//! Annulus around a control is that control, byte for byte, as long as no message comes.

use narrows_proto::cc::Config;

use super::Case;

/// Every control with its default settings, as it stands in a scenario.
fn controls() -> Vec<(String, &'static str)> {
    let transport = |config: &Config| if config.needs_rdma() { "rdma = {}" } else { "" };
    // A subflow of RackCC hears what its host knows when its turn comes, and with a loop its turns are others.
    let alone = |config: &Config| config.name() != "fixed" && !config.needs_rack();
    // Credits and loops do not go together, which is an error.
    let alone = |config: &Config| alone(config) && config.credits().is_none();
    let all = Config::all().into_iter().filter(alone);
    all.map(|config| (format!("{} = {{}}", config.name()), transport(&config))).collect()
}

#[test]
fn without_congestion_points_every_control_does_what_it_does_alone() {
    for (control, transport) in controls() {
        let case = Case { points: "", transport, end_ms: 250, ..Case::default() };
        let alone = Case { cc: control.clone(), ..case.clone() }.play();
        for per in ["flow", "host", "destination_dc"] {
            let cc = format!("annulus = {{ end_to_end = {{ {control} }}, per = \"{per}\" }}");
            let with = Case { cc, ..case.clone() }.play();
            assert_eq!(with.results.windows, alone.results.windows, "{control} per {per}");
            assert_eq!(with.results.flows, alone.results.flows, "{control} per {per}");
            assert_eq!(with.results.ports, alone.results.ports, "{control} per {per}");
        }
    }
}
