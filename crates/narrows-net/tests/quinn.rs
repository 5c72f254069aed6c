//! quinn as its users have it, in virtual time. TLS draws keys from the machine in each run: none of this depends on them.

#[path = "../examples/transfer.rs"]
#[expect(dead_code, reason = "the example has a main function")]
mod transfer;

use transfer::{SCENARIO, report, transfer};

const PAGE: &str = include_str!("../../../docs/guide/test-your-quic-stack.md");

#[test]
fn twenty_seconds_of_quinn_beside_bbr_are_the_same_every_time_and_as_the_guide_has_them() {
    let ((first, of_first), (second, of_second)) = (transfer(SCENARIO).unwrap(), transfer(SCENARIO).unwrap());
    assert!(first == second);
    assert_eq!(of_first.files().unwrap(), of_second.files().unwrap());
    let printed = report(&first, &of_first).join("\n");
    // quinn's CUBIC has the cube root of the system's library.
    if cfg!(all(target_env = "gnu", target_arch = "x86_64")) {
        assert!(PAGE.contains(&printed), "cargo run --release -p narrows-net --example transfer\n{printed}");
    }
}

#[test]
fn the_guide_shows_the_example_as_it_is() {
    let (example, scenario) =
        (include_str!("../examples/transfer.rs"), include_str!("../examples/two-dc.toml"));
    let blocks = PAGE.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next());
    assert_eq!(blocks.take(2).filter(|block| example.contains(block)).count(), 2);
    let (_, scenario) = scenario.split_once('\n').unwrap();
    assert!(PAGE.contains(scenario));
}

#[test]
fn quinn_waits_for_room_in_a_slow_card_and_loses_nothing() {
    let slow = SCENARIO.replace("host_rate = \"1 Gb/s\"", "host_rate = \"10 Mb/s\"");
    let (arrivals, results) = transfer(&slow).unwrap();
    // 10 Mb/s for 20 s are 25 MB with all headers.
    let total: usize = arrivals.iter().map(|(_, bytes)| bytes).sum();
    assert!(total > 22_500_000, "{total} B arrived");
    assert_eq!(results.metric("total.drops"), Some(0.0));
}
