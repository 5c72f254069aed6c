//! Quantities by both, and how far they agree: bands and verdicts are those of twins (`crates/narrows/src/twin.rs`).

/// Something that both measure, run by run.
pub(super) struct Quantity {
    pub(super) name: String,
    /// The most that the ratio may be; the least is its inverse.
    pub(super) most: f64,
    /// By ns-3 and by Narrows.
    pub(super) values: Vec<[f64; 2]>,
}

/// A line of a table.
pub(super) struct Row {
    name: String,
    cells: [String; 4],
    pub(super) verdict: &'static str,
}

/// Student's t for 95 % and five runs.
const T: f64 = 2.776_445;

impl Row {
    pub(super) fn of(quantity: &Quantity) -> Self {
        let Quantity { name, most, values } = quantity;
        let count = values.len() as f64;
        let [theirs, ours] = [0, 1].map(|which| values.iter().map(|pair| pair[which]).sum::<f64>() / count);
        let (least, most) = (1.0 / most, *most);
        let logs: Vec<_> = values.iter().map(|[theirs, ours]| (ours / theirs).ln()).collect();
        let (ratio, verdict) = if theirs == 0.0 && ours == 0.0 {
            ("–".into(), "same")
        } else if logs.iter().any(|log| !log.is_finite()) {
            ("–".into(), "apart")
        } else {
            let mean = logs.iter().sum::<f64>() / count;
            let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
            let half = T * (variance / count).sqrt();
            let [ratio, low, high] = [mean, mean - half, mean + half].map(f64::exp);
            let is_in = |ratio: &f64| (least..=most).contains(ratio);
            let verdict = if [low, high].iter().all(is_in) {
                "same"
            } else if low > most || high < least {
                "apart"
            } else {
                "open"
            };
            let interval = if values.len() == 1 { String::new() } else { format!(" [{low:.3}, {high:.3}]") };
            (format!("{ratio:.3}×{interval}"), verdict)
        };
        let band = format!("{least:.2} to {most:.2}");
        Self { name: name.clone(), cells: [digits(theirs), digits(ours), ratio, band], verdict }
    }
}

/// Four digits of a number, or all before the point.
fn digits(value: f64) -> String {
    let before = if value >= 1.0 { value.log10().floor() as usize + 1 } else { 1 };
    format!("{value:.0$}", 4_usize.saturating_sub(before))
}

/// A table of them.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text =
        "| | ns-3 | Narrows | Narrows / ns-3 | band | |\n| --- | --: | --: | --: | --: | --- |\n".to_owned();
    for Row { name, cells, verdict } in rows {
        text += &format!("| {name} | {} | {verdict} |\n", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(values: &[[f64; 2]]) -> &'static str {
        Row::of(&Quantity { name: "a".into(), most: 1.25, values: values.to_vec() }).verdict
    }

    #[test]
    fn what_lies_in_the_band_with_its_interval_is_the_same() {
        assert_eq!(
            verdict(&[[100.0, 101.0], [100.0, 99.0], [100.0, 100.0], [100.0, 102.0], [100.0, 98.0]]),
            "same"
        );
        assert_eq!(
            verdict(&[[100.0, 130.0], [100.0, 80.0], [100.0, 120.0], [100.0, 90.0], [100.0, 60.0]]),
            "open"
        );
        assert_eq!(verdict(&[[100.0, 140.0]]), "apart");
        assert_eq!(verdict(&[[0.0, 0.0]]), "same");
        assert_eq!(verdict(&[[0.0, 1.0]]), "apart");
    }

    #[test]
    fn numbers_have_four_digits_or_more() {
        assert_eq!(
            ["0.000", "1.235", "12.35", "1235", "12346"].map(str::to_owned),
            [0.0, 1.2346, 12.346, 1234.6, 12345.6].map(digits)
        );
    }
}
