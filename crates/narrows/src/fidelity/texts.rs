//! The files of comparisons and their scenarios, which are part of the program.

macro_rules! texts {
    ($($(#[$about:meta])* const $list:ident in $folder:literal { $($name:literal)+ })+) => {$(
        $(#[$about])*
        pub(super) const $list: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../fidelity/", $folder, $name, ".toml")))),+
        ];
    )+};
}

texts! {
    /// Comparisons, in the order in which they are shown.
    const FILES in "" {
        "links"
        "queues"
        "transport"
        "loss"
        "dctcp"
        "delay"
        "wan"
        "rdma"
        "hosts"
    }
    /// Scenarios that comparisons begin with.
    const SCENARIOS in "scenarios/" {
        "path"
        "poisson"
        "poisson-two"
        "threshold"
        "constant-window"
        "overload"
        "lossy"
        "one-bottleneck"
        "queue-management"
        "rivals"
        "two-paths"
        "parking-lot"
        "dctcp-theory"
        "dctcp-testbed"
        "dctcp-multihop"
        "dctcp-queries"
        "dctcp-background"
        "dctcp-transfers"
        "fabric"
        "pause"
        "streams"
        "messages"
        "equal"
    }
}
