//! Prints what the page knows without the engine, as JSON; `cargo xtask playground` puts it beside the code of the engine.
#![allow(clippy::print_stdout, reason = "it is what this is for")]

fn main() {
    println!("{}", narrows_web::folded(&narrows_web::library()));
}
