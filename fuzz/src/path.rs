//! Links that change, as CSV and as a trace of mahimahi: whatever is accepted can be sent over.

use narrows::plan::{parse_csv, parse_mahimahi};
use narrows_proto::units::{Bytes, Span};

pub fn check(text: &str) {
    for repeat in [false, true] {
        match parse_csv("a.csv", text.to_owned(), repeat) {
            Ok(read) => {
                let times: Vec<_> = read.rate.steps.iter().map(|(at, _)| *at).collect();
                assert!(!times.is_empty() && times.is_sorted_by(|a, b| a < b), "{times:?}");
                assert_eq!(read.rate.period.is_some(), repeat);
                assert!(
                    read.rate.period.is_none_or(|period| times.last() < Some(&period)),
                    "{:?}",
                    read.rate.period
                );
                let lists = [read.delay.map(|list| list.steps.len()), read.loss.map(|list| list.steps.len())];
                assert!(lists.into_iter().flatten().all(|len| len == times.len()), "{lists:?}");
            }
            Err(rejection) => drop(rejection.to_string()),
        }
    }
    match parse_mahimahi("a.up", text.to_owned(), Bytes::new(1500)) {
        Ok(read) => assert!(read.period() > Span::ZERO && read.per_period() >= Bytes::new(1500), "{read:?}"),
        Err(rejection) => drop(rejection.to_string()),
    }
}
