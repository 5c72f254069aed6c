//! Documentation of the modules of mechanisms, as texts.

use narrows_proto::module_docs;

macro_rules! modules {
    ($($name:ident $what:literal $file:literal)+) => {
        $(#[doc = concat!("Documentation of the module of ", $what, ".")] pub const $name: &str = module_docs!($file);)+
    };
}

modules! {
    BUFFER "packet memory" "mechanism/buffer.rs"
    MARKING "marking" "mechanism/marking/mod.rs"
    CODEL "CoDel" "mechanism/marking/codel.rs"
    PIE "PIE" "mechanism/marking/pie.rs"
    PHANTOM "phantom queues" "mechanism/marking/phantom.rs"
    FQ_CODEL "FQ-CoDel" "mechanism/fq_codel.rs"
    HOSTS "real hosts" "mechanism/hosts.rs"
    SMALL_QUEUES "small queues" "mechanism/small_queues.rs"
    PAUSE "PAUSE" "mechanism/pause/mod.rs"
    INGRESS "priority-based flow control" "mechanism/pfc/mod.rs"
    CONGESTION_POINT "congestion points" "mechanism/congestion_point/mod.rs"
    CONGESTION_POINT_BCN "BCN's congestion points" "mechanism/congestion_point/bcn.rs"
    CONGESTION_POINT_QCN "QCN's congestion points" "mechanism/congestion_point/qcn.rs"
    TELEMETRY "telemetry on its way" "mechanism/telemetry.rs"
    LIMITER "limiters" "mechanism/limiter/mod.rs"
    EDGE "limiters in edge switches" "mechanism/limiter/edge.rs"
    ROUTING "routing" "routing.rs"
    PATTERNS "patterns" "workload/patterns.rs"
    RPC "remote procedure calls" "workload/rpc.rs"
}
