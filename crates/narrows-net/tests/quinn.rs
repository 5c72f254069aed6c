//! quinn as its users have it, in virtual time. TLS draws keys from the machine in each run: none of this depends on them.

#[path = "../examples/transfer.rs"]
#[allow(dead_code)]
mod transfer;

use transfer::transfer;

#[test]
fn twenty_seconds_of_quinn_beside_bbr_are_the_same_every_time() {
    let ((first, of_first), (second, of_second)) = (transfer().unwrap(), transfer().unwrap());
    assert!(first == second);
    let total: usize = first.iter().map(|(_, bytes)| bytes).sum();
    assert!(total > 10_000_000, "{total} B arrived");
    assert_eq!(of_first.files().unwrap(), of_second.files().unwrap());
}
