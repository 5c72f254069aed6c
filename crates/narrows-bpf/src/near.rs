//! Settings of near-source loops as our programs read them.

use narrows_proto::annulus::near_source::{self, Start};
use narrows_proto::reaction::qcn::Variant;
use narrows_proto::units::{BitRate, Bytes, Span};

use crate::parameters::{c_struct, fixed};

c_struct! {
    /// `struct narrows_near_params`; all zeros if there is no near-source loop.
    NearParams {
        line_rate: u64,
        ai_rate: u64,
        hai_rate: u64,
        min_rate: u64,
        byte_reset: u64,
        time_reset_ns: u64,
        measure_over_ns: u64,
        dc_rtt_ns: u64,
        release_after_ns: u64,
        cap: u32,
        jitter: u32,
        gd: u32,
        min_dec_fac: u32,
        threshold: u32,
        pseudo_code: u8,
        start_at_line: u8,
        app_limited: u8,
        unused: u8,
    }
}

impl NearParams {
    /// Those of a near-source loop at a host with this line rate. Rates are divided by `scale`, times multiplied.
    ///
    /// # Errors
    /// Says what the loop of the kernel lacks, as one line without a full stop.
    pub fn new(settings: &near_source::Params, line_rate: BitRate, scale: f64) -> Result<Self, String> {
        let qcn = settings.qcn(line_rate);
        let rate = |rate: BitRate| (rate.as_f64() / scale * 256.0).round() as u64;
        let ns = |span: Span| (span.as_secs_f64() * scale * 1e9).round() as u64;
        let line = rate(line_rate);
        let (measure_over_ns, time_reset_ns) =
            (settings.measure_over.unwrap_or(settings.dc_rtt), qcn.time_reset);
        let (measure_over_ns, time_reset_ns) = (ns(measure_over_ns), ns(time_reset_ns));
        in_range(line, measure_over_ns, time_reset_ns, qcn.byte_reset)?;
        if !settings.validate_window {
            return Err("validate_window = false: in Linux no window grows that is not used".to_owned());
        }
        Ok(Self {
            line_rate: line,
            ai_rate: rate(qcn.ai_rate).min(2 * line),
            hai_rate: rate(qcn.hai_rate).min(2 * line),
            min_rate: rate(qcn.min_rate),
            byte_reset: qcn.byte_reset.get(),
            time_reset_ns,
            measure_over_ns,
            dc_rtt_ns: ns(settings.dc_rtt),
            release_after_ns: settings.release_after.map_or(0, |after| ns(after).max(1)),
            // More is none.
            cap: if settings.cap < 65_536.0 { fixed(settings.cap, 16) } else { 0 },
            jitter: fixed(qcn.jitter, 31),
            gd: fixed(qcn.gd, 31),
            min_dec_fac: fixed(qcn.min_dec_fac, 31),
            threshold: qcn.threshold,
            pseudo_code: (qcn.variant == Variant::PseudoCode).into(),
            start_at_line: (settings.start == Start::LineRate).into(),
            app_limited: settings.app_limited.into(),
            unused: 0,
        })
    }
}

/// The arithmetic has room for so much.
fn in_range(line: u64, measure_over_ns: u64, time_reset_ns: u64, byte_reset: Bytes) -> Result<(), String> {
    for (name, value, most) in [
        ("the line rate", line, 400_000_000_000 * 256),
        ("measure_over", measure_over_ns, 1 << 44),
        ("time_reset", time_reset_ns, 1 << 44),
        ("byte_reset", byte_reset.get(), 1 << 40),
    ] {
        if !(1..=most).contains(&value) {
            return Err(format!("{name} of the near-source loop is out of the range that the kernel's has"));
        }
    }
    Ok(())
}
