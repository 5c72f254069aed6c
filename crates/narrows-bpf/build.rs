//! Compiles the arithmetic of the controls for this machine, where tests hold it against that of `narrows-proto`.

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    // Functions of a control have the same arguments, whether it uses them or not.
    cc::Build::new().file("bpf/core.c").flag_if_supported("-Wno-unused-parameter").compile("narrows_core");
}
