//! Settings of controls as our programs read them: the structures of their headers in C, whose comments say what the fields are.

use narrows_proto::cc::{Config, dctcp, gemini};
use narrows_proto::units::{BitRate, Bytes, Span};

/// A structure of C without gaps, and its bytes.
macro_rules! c_struct {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub struct $name {
            $(pub $field: $type,)+
        }

        impl $name {
            /// As they lie in memory.
            pub fn bytes(&self) -> Vec<u8> {
                [$(&self.$field.to_ne_bytes()[..]),+].concat()
            }
        }
    };
}

pub(crate) use c_struct;

c_struct! {
    /// `struct narrows_gemini_params`.
    GeminiParams {
        capacity: u64,
        threshold: u64,
        base_rtt_window_us: u64,
        largest_product: u64,
        min_increase: u32,
        max_increase: u32,
        delay_threshold_us: u32,
        max_base_rtt_us: u32,
        beta: u32,
        max_scale: u32,
        gain: u32,
        initial_alpha: u32,
        pacing: u32,
        slow_start_pacing: u32,
        min_window: u32,
        slow_start_limit: u32,
        limit_after_timeout: u32,
        ecn: u8,
        delay: u8,
        slow_start_ignores_delay: u8,
        unused: u8,
    }
}

c_struct! {
    /// `struct narrows_dctcp_params`.
    DctcpParams {
        gain: u32,
        initial_alpha: u32,
        min_window: u32,
        slow_start_limit: u32,
        limit_after_timeout: u32,
        unused: u32,
    }
}

/// Properties of a path that settings may leave out.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Rate of the sender's own link, if it is known.
    pub link: Option<BitRate>,
    /// A full segment on the wire, headers and framing included.
    pub packet: Bytes,
    /// Seconds of the clock for a second of the settings: rates are divided by it, times multiplied.
    pub scale: f64,
}

impl Default for Path {
    fn default() -> Self {
        Self { link: None, packet: Bytes::new(1_538), scale: 1.0 }
    }
}

/// Settings of a control for the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// Of GEMINI.
    Gemini(GeminiParams),
    /// Of DCTCP.
    Dctcp(DctcpParams),
    /// CUBIC of the kernel: it has its own.
    Cubic,
    /// BBR of the kernel.
    Bbr,
}

/// Linux adds all that was acknowledged in slow start (`tcp_slow_start`).
const NO_LIMIT: u32 = u32::MAX;

/// Windows are smaller.
const MAX_WINDOW: u64 = 1 << 24;

impl Parameters {
    /// Names of the controls that there are for the kernel.
    pub const CONTROLS: [&str; 2] = ["gemini", "dctcp"];

    /// Those of a control with these settings.
    ///
    /// # Errors
    /// Says what the control for the kernel lacks, as one line without a full stop.
    pub fn new(config: &Config, path: &Path) -> Result<Self, String> {
        match config {
            Config::Gemini(settings) => gemini_params(settings, path).map(Self::Gemini),
            Config::Dctcp(settings) => Ok(Self::Dctcp(dctcp_params(settings))),
            _ => Err(format!("there is none but {} for the kernel", Self::CONTROLS.join(" and "))),
        }
    }

    /// Names of the controls that may have a near-source loop beside them.
    pub const WITH_LOOPS: [&str; 4] = ["cubic", "bbr", "gemini", "dctcp"];

    /// Those of a control with a near-source loop beside it. CUBIC and BBR are those of the kernel.
    ///
    /// # Errors
    /// As [`Parameters::new`].
    pub fn with_loop(config: &Config, path: &Path) -> Result<Self, String> {
        match config {
            Config::Cubic(_) => Ok(Self::Cubic),
            Config::Bbr(_) => Ok(Self::Bbr),
            Config::Gemini(_) | Config::Dctcp(_) => Self::new(config, path),
            _ => Err(format!("near-source loops of the kernel stand beside {}", Self::WITH_LOOPS.join(", "))),
        }
    }

    /// Name of the control in scenarios.
    pub fn control(&self) -> &'static str {
        match self {
            Self::Gemini(_) => "gemini",
            Self::Dctcp(_) => "dctcp",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }

    /// Connections use marks.
    pub fn uses_marks(&self) -> bool {
        !matches!(self, Self::Gemini(GeminiParams { ecn: 0, .. }) | Self::Cubic | Self::Bbr)
    }

    /// As programs read them; none if there is nothing to read.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Gemini(params) => Some(params.bytes()),
            Self::Dctcp(params) => Some(params.bytes()),
            Self::Cubic | Self::Bbr => None,
        }
    }
}

fn gemini_params(settings: &gemini::Params, path: &Path) -> Result<GeminiParams, String> {
    let nominal = settings.capacity.or(path.link).ok_or("it needs its capacity")?;
    let capacity = nominal.as_f64() / path.scale;
    if !(1e6..=1e14).contains(&capacity) {
        let found = BitRate::from_f64(capacity);
        return Err(format!("its capacity is {found} on the clock, expected 1 Mb/s to 100 Tb/s"));
    }
    let threshold = 8.0 * settings.threshold(nominal.as_f64(), path.packet);
    if threshold >= 2_f64.powi(48) {
        return Err("its marking threshold is beyond all buffers".to_owned());
    }
    let us = |span: Span| (span.as_secs_f64() * path.scale * 1e6).round().min(f64::from(u32::MAX)) as u32;
    let largest = (settings.max_increase / settings.increase).round();
    Ok(GeminiParams {
        capacity: (capacity * 1024.0 / 1e6).round() as u64,
        threshold: threshold.round() as u64,
        base_rtt_window_us: settings.base_rtt_window.map_or(0, |window| us(window).max(1).into()),
        largest_product: if settings.increase > 0.0 { largest.clamp(1.0, 2_f64.powi(53)) as u64 } else { 0 },
        min_increase: fixed(settings.min_increase, 22),
        max_increase: fixed(settings.max_increase, 22),
        delay_threshold_us: us(settings.delay_threshold),
        max_base_rtt_us: settings.max_base_rtt.map_or(u32::MAX, us).max(1),
        beta: fixed(settings.beta, 32),
        max_scale: fixed(settings.max_scale, 29),
        gain: fixed(settings.gain, 31),
        initial_alpha: fixed(settings.initial_alpha, 31),
        pacing: fixed(settings.pacing, 16),
        slow_start_pacing: fixed(settings.slow_start_pacing, 16),
        min_window: settings.min_window.min(MAX_WINDOW) as u32,
        slow_start_limit: NO_LIMIT,
        limit_after_timeout: NO_LIMIT,
        ecn: settings.ecn.into(),
        delay: settings.delay.into(),
        slow_start_ignores_delay: settings.slow_start_ignores_delay.into(),
        unused: 0,
    })
}

fn dctcp_params(settings: &dctcp::Params) -> DctcpParams {
    DctcpParams {
        gain: fixed(settings.gain, 31),
        initial_alpha: fixed(settings.initial_alpha, 31),
        min_window: settings.min_window.min(MAX_WINDOW) as u32,
        slow_start_limit: NO_LIMIT,
        limit_after_timeout: NO_LIMIT,
        unused: 0,
    }
}

/// The nearest multiple of 2^-bits.
pub(crate) fn fixed(value: f64, bits: i32) -> u32 {
    // It saturates.
    (value * 2_f64.powi(bits)).round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_gigabit(settings: gemini::Params, scale: f64) -> Result<Parameters, String> {
        let path = Path { link: Some(BitRate::from_gbps(1)), packet: Bytes::new(1_538), scale };
        Parameters::new(&Config::Gemini(settings), &path)
    }

    #[test]
    fn settings_become_fixed_point_numbers() {
        let Ok(Parameters::Gemini(params)) = at_gigabit(gemini::Params::default(), 1.0) else {
            panic!("GEMINI")
        };
        assert_eq!((params.capacity, params.threshold), (1_024_000, 50 * 1_538 * 8));
        assert_eq!((params.delay_threshold_us, params.max_base_rtt_us), (5_000, u32::MAX));
        assert_eq!((params.max_scale, params.gain), (1 << 28, 1 << 27));
        assert_eq!((params.base_rtt_window_us, params.largest_product), (0, 41_666_667)); // 5/1.2e-7
    }

    #[test]
    fn a_slower_clock_lengthens_times_and_lowers_rates_and_leaves_windows_alone() {
        let Ok(Parameters::Gemini(params)) = at_gigabit(gemini::Params::default(), 10.0) else {
            panic!("GEMINI")
        };
        assert_eq!((params.capacity, params.delay_threshold_us), (102_400, 50_000));
        assert_eq!((params.threshold, params.largest_product), (50 * 1_538 * 8, 41_666_667));
    }

    #[test]
    fn what_the_kernel_has_not_is_refused() {
        let refused = |settings| at_gigabit(settings, 1.0).expect_err("it is refused");
        let slow = gemini::Params { capacity: Some(BitRate::from_bps(10_000)), ..gemini::Params::default() };
        assert!(refused(slow).contains("10 kb/s on the clock"));
    }
}
