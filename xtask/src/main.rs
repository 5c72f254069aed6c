//! Chores of this workspace. `cargo xtask --help` lists them.
fn main() {}
