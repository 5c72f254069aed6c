use narrows_proto::cc::gemini::MarkingThreshold;
use narrows_proto::cc::{Config, gemini};

use super::Traffic;

/// Settings of GEMINI, alone or in a near-source loop; none of other controls.
pub(crate) fn gemini_of(cc: &mut Config) -> Option<&mut gemini::Params> {
    match cc {
        Config::Gemini(params) => Some(params),
        Config::Annulus(params) => gemini_of(&mut params.end_to_end),
        _ => None,
    }
}

/// Leaves K to the switches where nothing is said of it.
pub(super) fn leave_to_switches(traffic: &mut [Traffic]) {
    for settings in traffic.iter_mut().filter_map(|group| gemini_of(group.cc.as_mut()?)) {
        settings.marking_threshold.get_or_insert(MarkingThreshold::Switches);
    }
}
