//! The list of mechanisms: the one place of this crate that names all of them, with their keys in scenarios.
//!
//! ```text
//! switch     a key of the switches of a class: its meaning, its name, and what it holds, which the simulator takes over
//! record     a key of `record`: its meaning, its name, what it holds, and the rows that come of it
//! ```
//! Mechanisms are called as their folder in the simulator. A home that records has, besides what [`Mechanism`](super::Mechanism) asks
//! for, the functions `observer` and `finish`. What is shown of several mechanisms is in the order of the list.

/// Gives what mechanisms have of a kind to the macro `made`: `switch` keys, `record` keys, or the name of `each`.
macro_rules! mechanisms {
    ($kind:ident => $made:ident) => {
        $crate::mechanism::list::sorted! { $kind $made:
            codel {}
            pie {}
            phantom {}
            limiter {
                record "Rates and queues of limiters; of all nodes if `of` is left out."
                    limiters: RecordPorts of Vec<narrows_sim::mechanism::limiter::LimiterRow>;
            }
            pause {
                switch "When neighbors are paused (IEEE 802.3 PAUSE)."
                    pause: Option<narrows_sim::switch::Pause>;
            }
            pfc {
                switch "How classes of packets are stopped at neighbors (priority-based flow control, IEEE 802.1Qbb)."
                    pfc: Option<narrows_sim::switch::Pfc>;
            }
            isolation {
                switch "How congested flows are isolated; needs `pfc`."
                    isolation: Option<narrows_sim::mechanism::isolation::Isolation>;
                record "When queues for isolated flows came and went."
                    isolation: RecordNodes of Vec<narrows_sim::mechanism::isolation::IsolationRow>;
            }
            drr {
                switch "Flows take turns (deficit round robin)."
                    drr: Option<narrows_sim::mechanism::drr::Drr>;
            }
            fq_codel {
                switch "Flows take turns, and CoDel controls each (FQ-CoDel)."
                    fq_codel: Option<narrows_sim::mechanism::fq_codel::FqCodel>;
            }
            dualpi2 {
                switch "A short queue for scalable controls beside the classic one, and a controller that couples them (DualPI2)."
                    dualpi2: Option<narrows_sim::mechanism::dualpi2::DualPi2>;
            }
            congestion_point {}
            telemetry {
                switch "Packets of controls that read telemetry (`hpcc`, `powertcp`) learn, as they begin to be sent, the rate of the port, the time, what it\nhas sent and what waits there."
                    #[serde(default)] telemetry: bool;
            }
            themis {
                switch "Border switches that notify sources under DCQCN near them, and hold packets for those far away (Themis)."
                    themis: Option<narrows_sim::mechanism::themis::Themis>;
            }
            trimming {
                switch "Packets for which there is no room lose their payload in place of being dropped, where their transport can make use of it."
                    trimming: Option<narrows_sim::mechanism::trimming::Trimming>;
            }
            rackcc {
                switch "The state of JumboFlows that switches with hosts keep, for traffic under `rackcc`."
                    rack_agent: Option<narrows_sim::mechanism::rackcc::RackAgent>;
                record "What switches reported of JumboFlows and what hosts advertised; of all nodes if `of` is left out."
                    racks: RecordPorts of (Vec<narrows_sim::mechanism::rackcc::JumboFlowRow>, Vec<narrows_sim::mechanism::rackcc::AdvertisedRow>);
            }
            near_source {}
            paths {}
            entropy {}
            routing {}
            wcmp {}
            flowlets {}
            adaptive {}
        }
    };
}

/// Sorts the list by kind.
macro_rules! sorted {
    ($kind:ident $made:ident: $($name:ident {
        $(switch $about:literal $(#[$attribute:meta])? $key:ident: $settings:ty;)?
        $(record $of:literal $record:ident: $written:ident of $rows:ty;)?
    })*) => {
        $crate::mechanism::list::picked! { $kind $made
            [$($($name: $about $(#[$attribute])? $key: $settings,)?)*]
            [$($($name: $of $record: $written of $rows,)?)*]
            [$($name,)*]
        }
    };
}

macro_rules! picked {
    (switch $made:ident [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (record $made:ident $a:tt [$($of:tt)*] $($rest:tt)*) => { $made! { $($of)* } };
    (each $made:ident $a:tt $b:tt [$($of:tt)*]) => { $made! { $($of)* } };
}

pub(crate) use {mechanisms, picked, sorted};
