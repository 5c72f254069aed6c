//! Parts of a sweep for several processes that know nothing of each other.

use std::str::FromStr;

/// One of several parts: part `index` of `of`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 1 on.
    pub index: u32,
    /// Number of parts.
    pub of: u32,
}

impl Shard {
    /// For each of the jobs with these costs: whether it belongs to this part. The costliest first, each goes to the part that
    /// has the least so far, so all processes divide the same jobs in the same way.
    pub fn share(self, costs: &[f64]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        order.sort_by(|a, b| costs[*b].total_cmp(&costs[*a]).then(a.cmp(b)));
        let mut loads = vec![0.0_f64; self.of as usize];
        let mut mine = vec![false; costs.len()];
        for job in order {
            let least = (0..loads.len()).min_by(|a, b| loads[*a].total_cmp(&loads[*b])).unwrap_or(0);
            loads[least] += costs[job].max(1.0);
            mine[job] = least + 1 == self.index as usize;
        }
        mine
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((index, of)) if (1..=of).contains(&index) && of <= 10_000 => Ok(Self { index, of }),
            _ => Err("expected i/n with i from 1 to n, such as 2/8, and n up to 10000".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_belongs_to_one_part_and_parts_are_about_equal() {
        let costs: Vec<f64> = (0..97).map(|job| f64::from(job * 37 % 97) + 1.0).collect();
        let parts: Vec<_> = (1..=4).map(|index| Shard { index, of: 4 }.share(&costs)).collect();
        for job in 0..costs.len() {
            assert_eq!(parts.iter().filter(|part| part[job]).count(), 1);
        }
        let load = |part: &Vec<bool>| -> f64 {
            part.iter().zip(&costs).filter(|(mine, _)| **mine).map(|(_, cost)| cost).sum()
        };
        let mean = costs.iter().sum::<f64>() / 4.0;
        assert!(parts.iter().all(|part| (load(part) / mean - 1.0).abs() < 0.05));
    }

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!("2/8".parse(), Ok(Shard { index: 2, of: 8 }));
        assert!(
            ["0/8", "9/8", "1", "a/b", "1/0", "1/20000"].iter().all(|text| text.parse::<Shard>().is_err())
        );
    }
}
