//! `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014), as a generator and as a hash.

/// A small generator for the random choices of one connection.
#[derive(Clone, Debug)]
pub struct SplitMix {
    state: u64,
}

impl SplitMix {
    /// Begins at `seed`, any number.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `bound`, which is not zero. The bias is below `bound`/2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in [0, 1), of 2^53 equally likely ones.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// True or false, equally likely.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }
}

/// Scatters 64 bits over 64 bits (the finaliser of `SplitMix64`): equal inputs give equal outputs, nearby inputs unrelated
/// ones.
#[inline]
pub const fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The first outputs of SplitMix64 from the seed 1234567, as in the test of many implementations.
        let mut generator = SplitMix::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| generator.bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_number_below_the_bound_comes_up() {
        let mut generator = SplitMix::new(1);
        let mut seen = [0; 7];
        for _ in 0..7_000 {
            seen[generator.below(7) as usize] += 1;
        }
        // 1000 each; ±15 % is five standard deviations (√(7000·1/7·6/7) = 29).
        assert!(seen.iter().all(|count| (850..=1150).contains(count)), "{seen:?}");
    }

    #[test]
    fn coins_and_uniform_numbers_are_balanced() {
        let mut generator = SplitMix::new(7);
        let heads = (0..10_000).filter(|_| generator.coin()).count();
        let sum: f64 = (0..10_000).map(|_| generator.uniform()).sum();
        // Four standard deviations: 4·√(10⁴/4) = 200 heads, 4·√(10⁴/12) = 115.
        assert!(heads.abs_diff(5_000) < 200, "{heads}");
        assert!((sum - 5_000.0).abs() < 115.0, "{sum}");
    }
}
