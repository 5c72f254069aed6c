/// An exponentially weighted moving average: `value = (1 − g)·value + g·sample`.
#[derive(Clone, Copy, Debug)]
pub struct Ewma {
    value: f64,
    gain: f64,
}

impl Ewma {
    /// Starts at `value`; `gain` is g, the weight of the newest sample, in (0, 1].
    pub fn new(value: f64, gain: f64) -> Self {
        Self { value, gain }
    }

    /// Takes one sample into the average.
    pub fn add(&mut self, sample: f64) {
        self.value = (1.0 - self.gain) * self.value + self.gain * sample;
    }

    /// The average.
    pub fn get(&self) -> f64 {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_moves_the_average_by_its_weight() {
        let mut average = Ewma::new(1.0, 0.25);
        average.add(0.0);
        assert_eq!(average.get(), 0.75);
    }
}
