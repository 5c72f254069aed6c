//! Size distributions: whatever is accepted can be drawn from.

use narrows_proto::units::Bytes;

pub fn check(text: &str) {
    match narrows::sizes::parse("sizes.csv", text.to_owned()) {
        Ok(loaded) => {
            let (mean, largest) = (loaded.sizes.mean(), loaded.sizes.largest());
            assert!((1.0..=largest.as_f64() + 1.0).contains(&mean), "mean {mean}, largest {largest}");
            let quantiles = (0..=16).map(|step| loaded.sizes.quantile(f64::from(step) / 16.0));
            let quantiles: Vec<_> = quantiles.collect();
            assert!(quantiles.is_sorted(), "{quantiles:?}");
            assert!(
                quantiles[0] >= Bytes::new(1) && quantiles[16] <= largest,
                "{quantiles:?}, largest {largest}"
            );
        }
        Err(rejection) => drop(rejection.to_string()),
    }
}
