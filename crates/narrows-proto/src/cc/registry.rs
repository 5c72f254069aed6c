//! The list of algorithms. Adding one is its file in `cc/` (with its `mod` line) and one line at the end of this file.

use std::fmt;

use super::{
    Ack, Algorithm, Congestion, Controller, DatagramController, Described, Ecn, Limit, OutOfRange, Path,
    Ranges, Reporter, Signal, custom, kernel,
};
use crate::annulus;
use crate::rdma::Credits;
use crate::units::{Bytes, Span, Time};

/// Description of an algorithm, for lists and documentation.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Summary in one line.
    pub summary: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// State that its controllers report of themselves, for the table `state`.
    pub inside: Described,
    /// Behavior, and differences from its source: the documentation of its module, Markdown.
    pub about: &'static str,
}

macro_rules! registry {
    ($($name:ident: $module:ident::$algorithm:ident $(and $datagrams:ident)? in $file:literal,)+) => {
        /// A controller of any registered algorithm, dispatched by `match`, or one from outside.
        #[derive(Debug)]
        pub enum Cc {
            $(#[doc = concat!("See [`super::", stringify!($module), "`].")] $algorithm(super::$module::$algorithm),)+
            /// See [`custom`].
            Custom(custom::Custom),
        }

        impl Controller for Cc {
            #[inline]
            fn on_ack(&mut self, ack: &Ack) {
                match self {
                    $(Self::$algorithm(controller) => controller.on_ack(ack),)+
                    Self::Custom(controller) => controller.on_ack(ack),
                }
            }

            fn on_congestion(&mut self, now: Time, event: Congestion) {
                match self {
                    $(Self::$algorithm(controller) => controller.on_congestion(now, event),)+
                    Self::Custom(controller) => controller.on_congestion(now, event),
                }
            }

            #[inline]
            fn limit(&self) -> Limit {
                match self {
                    $(Self::$algorithm(controller) => controller.limit(),)+
                    Self::Custom(controller) => controller.limit(),
                }
            }

            fn segment(&self) -> Option<Bytes> {
                match self {
                    $(Self::$algorithm(controller) => controller.segment(),)+
                    Self::Custom(controller) => controller.segment(),
                }
            }

            fn on_idle(&mut self, now: Time, idle: Span, restart: Option<Bytes>) {
                match self {
                    $(Self::$algorithm(controller) => controller.on_idle(now, idle, restart),)+
                    Self::Custom(controller) => controller.on_idle(now, idle, restart),
                }
            }

            #[inline]
            fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
                match self {
                    $(Self::$algorithm(controller) => controller.on_signal(now, signal),)+
                    Self::Custom(controller) => controller.on_signal(now, signal),
                }
            }

            #[inline]
            fn next_timer(&self) -> Time {
                match self {
                    $(Self::$algorithm(controller) => controller.next_timer(),)+
                    Self::Custom(controller) => controller.next_timer(),
                }
            }

            fn inside(&self, report: &mut Reporter<'_>) {
                match self {
                    $(Self::$algorithm(controller) => controller.inside(report),)+
                    Self::Custom(controller) => controller.inside(report),
                }
            }
        }

        /// A controller of datagrams, of any registered algorithm that has rules for them.
        #[derive(Clone, Debug)]
        pub enum DatagramCc {
            $($(#[doc = concat!("See [`super::", stringify!($module), "`].")] $algorithm(super::$module::$datagrams),)?)+
        }

        impl DatagramController for DatagramCc {
            #[inline]
            fn wait(&mut self, now: Time, sent: u64) -> Option<Time> {
                match *self {
                    $($(Self::$algorithm(ref mut of) => super::$module::$datagrams::wait(of, now, sent),)?)+
                }
            }

            #[inline]
            fn on_sent(&mut self, now: Time, number: u64) {
                match *self {
                    $($(Self::$algorithm(ref mut of) => super::$module::$datagrams::on_sent(of, now, number),)?)+
                }
            }

            fn on_echo(&mut self, now: Time, number: u64) {
                match *self {
                    $($(Self::$algorithm(ref mut of) => super::$module::$datagrams::on_echo(of, now, number),)?)+
                }
            }

            fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
                match *self {
                    $($(Self::$algorithm(ref mut of) => super::$module::$datagrams::on_signal(of, now, signal),)?)+
                }
            }

            fn restart(&mut self) {
                match *self {
                    $($(Self::$algorithm(ref mut of) => super::$module::$datagrams::restart(of),)?)+
                }
            }
        }

        /// Which algorithm, with its settings: `{ dctcp = {} }` in a scenario.
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(rename = "CongestionControl")]
        pub enum Config {
            $(#[doc = concat!("Settings of `", stringify!($name), "`.")] $algorithm(super::$module::Params),)+
            /// Any of the others with a near-source loop beside it: settings of `annulus`.
            Annulus(annulus::Params),
            /// One that the program which runs the scenario brings along: settings of `custom`.
            Custom(custom::Params),
            /// One that the kernel has: settings of `kernel`.
            Kernel(kernel::Params),
        }

        impl Config {
            /// Every algorithm with its default settings, in the order of the registry; `annulus`, `custom` and `kernel` are none of their own.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$algorithm(Default::default())),+]
            }

            /// A controller for a new connection; the end-to-end one if it is `annulus`.
            ///
            /// # Panics
            /// If it is that of a kernel, which no simulated connection has.
            pub fn build(&self, path: &Path) -> Cc {
                match self {
                    $(Self::$algorithm(params) => Cc::$algorithm(Algorithm::new(params, path)),)+
                    Self::Annulus(params) => params.end_to_end.build(path),
                    Self::Custom(params) => Cc::Custom(params.build(path)),
                    Self::Kernel(params) => panic!("{} of the kernel on a simulated connection", params.name),
                }
            }

            /// A controller for a new source of datagrams, if it has rules for them.
            pub fn build_for_datagrams(&self, path: &Path) -> Option<DatagramCc> {
                match self {
                    $($(Self::$algorithm(params) => {
                        Some(DatagramCc::$algorithm(super::$module::$datagrams::new(params, path)))
                    })?)+
                    _ => None,
                }
            }

            /// Use of congestion marks by its connections.
            pub fn ecn(&self) -> Ecn {
                match self {
                    $(Self::$algorithm(params) => super::$module::$algorithm::ecn(params),)+
                    Self::Annulus(params) => params.end_to_end.ecn(),
                    Self::Custom(params) => params.uses().ecn,
                    Self::Kernel(params) if params.ecn => Ecn::Classic,
                    Self::Kernel(_) => Ecn::Off,
                }
            }

            /// Its packets say ECT(1) by themselves.
            pub fn is_l4s(&self) -> bool {
                match self {
                    $(Self::$algorithm(params) => super::$module::$algorithm::is_l4s(params),)+
                    Self::Annulus(params) => params.end_to_end.is_l4s(),
                    Self::Custom(_) | Self::Kernel(_) => false,
                }
            }

            /// The longest burst of its connections, as time at their rate, if it limits them.
            pub fn burst(&self) -> Option<Span> {
                match self {
                    $(Self::$algorithm(params) => super::$module::$algorithm::burst(params),)+
                    Self::Annulus(params) => params.end_to_end.burst(),
                    Self::Custom(_) | Self::Kernel(_) => None,
                }
            }

            /// Credits of receivers that its connections need besides its limit.
            pub fn credits(&self) -> Option<Credits> {
                match self {
                    $(Self::$algorithm(params) => super::$module::$algorithm::credits(params),)+
                    Self::Annulus(params) => params.end_to_end.credits(),
                    Self::Custom(_) | Self::Kernel(_) => None,
                }
            }

            /// Checks ranges that types cannot express.
            ///
            /// # Errors
            /// Names the first setting that is out of its range.
            pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
                match self {
                    $(Self::$algorithm(params) => super::$module::$algorithm::check(params, ranges),)+
                    Self::Annulus(params) => params.check(None, ranges).and_then(|()| params.end_to_end.check(ranges)),
                    // Only its maker knows its settings: `custom::Params::check`.
                    Self::Custom(_) | Self::Kernel(_) => Ok(()),
                }
            }

            /// It reads delays or rates: its window may fall without a loss or a mark.
            pub fn reads_delay(&self) -> bool {
                match self {
                    $(Self::$algorithm(_) => super::$module::$algorithm::READS_DELAY,)+
                    Self::Annulus(params) => params.end_to_end.reads_delay(),
                    Self::Custom(params) => params.uses().reads_delay,
                    Self::Kernel(_) => false,
                }
            }

            /// The receiver must acknowledge every segment at once.
            pub fn wants_every_ack(&self) -> bool {
                match self {
                    $(Self::$algorithm(_) => super::$module::$algorithm::WANTS_EVERY_ACK,)+
                    Self::Annulus(params) => params.end_to_end.wants_every_ack(),
                    Self::Custom(_) | Self::Kernel(_) => false,
                }
            }

            /// Writes out settings that were left out, unless they depend on the path.
            pub fn complete(&mut self) {
                match self {
                    $(Self::$algorithm(params) => super::$module::$algorithm::complete(params),)+
                    Self::Annulus(params) => {
                        params.end_to_end.complete();
                        params.near_source.complete();
                    }
                    Self::Custom(_) | Self::Kernel(_) => {}
                }
            }

            /// It needs signals that only the RDMA transport sends.
            pub fn needs_rdma(&self) -> bool {
                match self {
                    $(Self::$algorithm(_) => super::$module::$algorithm::NEEDS_RDMA,)+
                    Self::Annulus(params) => params.end_to_end.needs_rdma(),
                    Self::Custom(params) => params.uses().needs_rdma,
                    Self::Kernel(_) => false,
                }
            }

            /// Its packets collect telemetry of switches.
            pub fn reads_telemetry(&self) -> bool {
                match self {
                    $(Self::$algorithm(_) => super::$module::$algorithm::TELEMETRY,)+
                    Self::Annulus(params) => params.end_to_end.reads_telemetry(),
                    Self::Custom(params) => params.uses().reads_telemetry,
                    Self::Kernel(_) => false,
                }
            }

            /// It shares its state with all connections between two racks.
            pub fn needs_rack(&self) -> bool {
                match self {
                    $(Self::$algorithm(_) => super::$module::$algorithm::NEEDS_RACK,)+
                    Self::Annulus(params) => params.end_to_end.needs_rack(),
                    Self::Custom(params) => params.uses().needs_rack,
                    Self::Kernel(_) => false,
                }
            }

            /// State that its controllers report of themselves; not known of one that is not built in.
            pub fn inside(&self) -> Option<Described> {
                match self {
                    $(Self::$algorithm(_) => Some(super::$module::$algorithm::INSIDE),)+
                    Self::Annulus(params) => params.end_to_end.inside(),
                    Self::Custom(_) | Self::Kernel(_) => None,
                }
            }

            /// Its name in scenarios.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$algorithm(_) => stringify!($name),)+
                    Self::Annulus(_) => "annulus",
                    Self::Custom(_) => "custom",
                    Self::Kernel(_) => "kernel",
                }
            }

            /// Its settings if it comes from outside, in a near-source loop or alone.
            pub fn custom(&self) -> Option<&custom::Params> {
                match self {
                    Self::Annulus(params) => params.end_to_end.custom(),
                    Self::Custom(params) => Some(params),
                    _ => None,
                }
            }

            /// The control of the kernel that it names, in a near-source loop or alone.
            pub fn kernel(&self) -> Option<&kernel::Params> {
                match self {
                    Self::Annulus(params) => params.end_to_end.kernel(),
                    Self::Kernel(params) => Some(params),
                    _ => None,
                }
            }

            /// Name of the simulated control that is the native twin of one of the kernel, if there is one.
            pub fn twin_of(kernel: &kernel::Params) -> Option<&'static str> {
                Self::all().iter().map(Self::name).find(|name| *name == kernel.plain_name())
            }

            /// The same as [`custom`](Self::custom), to be changed.
            pub fn custom_mut(&mut self) -> Option<&mut custom::Params> {
                match self {
                    Self::Annulus(params) => params.end_to_end.custom_mut(),
                    Self::Custom(params) => Some(params),
                    _ => None,
                }
            }
        }

        /// Its name in lists: `dctcp`, `annulus(bbr)`, `custom(mine)`, `kernel(cubic)`.
        impl fmt::Display for Config {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::Annulus(params) => write!(f, "annulus({})", params.end_to_end),
                    Self::Custom(params) => write!(f, "custom({})", params.name),
                    Self::Kernel(params) => write!(f, "kernel({})", params.name),
                    built_in => f.write_str(built_in.name()),
                }
            }
        }

        /// Names in scenarios of all that [`ALGORITHMS`] describes.
        pub const NAMES: &[&str] = &[$(stringify!($name),)+ "annulus", "custom", "kernel"];

        /// All registered algorithms, and `annulus`, `custom` and `kernel` at the end.
        pub const ALGORITHMS: &[Entry] = &[
            $(Entry {
                name: stringify!($name),
                summary: super::$module::$algorithm::SUMMARY,
                source: super::$module::$algorithm::SOURCE,
                inside: super::$module::$algorithm::INSIDE,
                about: crate::module_docs!($file),
            },)+
            Entry {
                name: "annulus",
                summary: annulus::SUMMARY,
                source: annulus::SOURCE,
                inside: &[],
                about: crate::module_docs!("../annulus/mod.rs"),
            },
            Entry {
                name: "custom",
                summary: custom::SUMMARY,
                source: custom::SOURCE,
                inside: &[],
                about: crate::module_docs!("custom/mod.rs"),
            },
            Entry {
                name: "kernel",
                summary: kernel::SUMMARY,
                source: kernel::SOURCE,
                inside: &[],
                about: crate::module_docs!("kernel.rs"),
            },
        ];
    };
}

registry! {
    reno: reno::Reno in "reno.rs",
    cubic: cubic::Cubic in "cubic/mod.rs",
    dctcp: dctcp::Dctcp in "dctcp.rs",
    fixed: fixed::Fixed in "fixed.rs",
    gemini: gemini::Gemini in "gemini/mod.rs",
    vegas: vegas::Vegas in "vegas.rs",
    bbr: bbr::Bbr in "bbr/mod.rs",
    bbr3: bbr3::Bbr3 in "bbr3/mod.rs",
    prague: prague::Prague in "prague/mod.rs",
    copa: copa::Copa in "copa/mod.rs",
    pcc_allegro: pcc_allegro::PccAllegro in "pcc_allegro/mod.rs",
    pcc_vivace: pcc_vivace::PccVivace in "pcc_vivace/mod.rs",
    swift: swift::Swift in "swift.rs",
    dcqcn: dcqcn::Dcqcn in "dcqcn/mod.rs",
    timely: timely::Timely in "timely/mod.rs",
    hpcc: hpcc::Hpcc in "hpcc/mod.rs",
    powertcp: powertcp::Powertcp in "powertcp/mod.rs",
    theta_powertcp: theta_powertcp::ThetaPowertcp in "theta_powertcp.rs",
    uno: uno::Uno in "uno/mod.rs",
    nscc: nscc::Nscc in "nscc/mod.rs",
    rccc: rccc::Rccc in "rccc.rs",
    rackcc: rackcc::Rackcc and Share in "rackcc/mod.rs",
}
