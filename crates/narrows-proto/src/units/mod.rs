//! Quantities as types: [`Time`], [`Span`], [`Bytes`], [`BitRate`].
//!
//! All are 64-bit integers (picoseconds, bytes, bit/s), read from and printed as text with a unit, exactly: what
//! is printed can be read back to the same value. Sums that would leave the 64-bit range panic, in release builds
//! too; sums with [`Time::NEVER`] stay `NEVER`. Text that does not fit is an error ([`QuantityError`]), never a
//! rounded value.
//!
//! ```
//! use narrows_proto::units::{BitRate, Bytes, Span};
//! let rate: BitRate = "100 Gb/s".parse()?;
//! let packet = Bytes::new(1538);
//! assert_eq!(rate.time_to_send(packet), Span::from_ps(123_040));
//! assert_eq!(rate * "14 us".parse::<Span>()?, "175 kB".parse::<Bytes>()?);   // a bandwidth-delay product
//! # Ok::<(), narrows_proto::units::QuantityError>(())
//! ```
//!
//! No floating point values leave or enter this module except through the functions named
//! `as_…_f64` and [`Bytes::from_f64`], [`Span::from_secs_f64`], [`BitRate::from_f64`], which say how they round.

mod bytes;
mod rate;
mod text;
mod time;

pub use bytes::Bytes;
pub use rate::{BitRate, WireTime};
pub use text::{QUANTITY, QuantityError};
pub use time::{Span, Time};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error<T: std::str::FromStr<Err = QuantityError> + std::fmt::Debug>(text: &str) -> String {
        text.parse::<T>().expect_err("should be refused").to_string()
    }

    #[test]
    fn quantities_are_read_in_every_unit() {
        let times = ["5 ms", "5ms", "5000 us", "5000 µs", "5_000_000 ns", "0.005 s", "5e-3 s", "5.0E9 ps"];
        assert!(times.iter().all(|text| text.parse() == Ok(Span::from_ms(5))), "{times:?}");
        assert_eq!("2 min".parse(), Ok(Span::from_secs(120)));
        assert_eq!("64 KiB".parse(), Ok(Bytes::new(65_536)));
        assert_eq!("9 MB".parse(), Ok(Bytes::new(9_000_000)));
        let rates = ["100 Gb/s", "100Gbps", "100 Gbit/s", "0.1 Tb/s", "100000 Mb/s"];
        assert!(rates.iter().all(|text| text.parse() == Ok(BitRate::from_gbps(100))), "{rates:?}");
    }

    #[test]
    fn the_largest_values_are_read_exactly() {
        assert_eq!("18446744073709551615 B".parse(), Ok(Bytes::MAX));
        assert_eq!("18446744.073709551615 s".parse(), Ok(Span::MAX));
    }

    #[test]
    fn a_text_that_is_no_quantity_is_refused_with_what_would_be_accepted() {
        assert_eq!(error::<Span>("soon"), "expected a time with a unit, such as \"5 ms\", found \"soon\"");
        assert_eq!(error::<Span>(""), "expected a time with a unit, such as \"5 ms\", found \"\"");
        assert_eq!(
            error::<Span>("5"),
            "missing unit in \"5\", expected a time with a unit, such as \"5 ms\""
        );
        assert_eq!(error::<Span>("5 GB"), "unknown unit \"GB\", known: ps, ns, us, ms, s");
        assert_eq!(error::<BitRate>("10 GB/s"), "unknown unit \"GB/s\", known: b/s, kb/s, Mb/s, Gb/s, Tb/s");
        assert_eq!(
            error::<Bytes>("-1 MB"),
            "\"-1 MB\" is negative, expected a size with a unit, such as \"9 MB\" or \"64 KiB\""
        );
        assert_eq!(error::<Span>("0.5 ps"), "\"0.5 ps\" is finer than the smallest step, 1 ps");
        assert_eq!(
            error::<Bytes>("20000 PB"),
            "\"20000 PB\" is too large, the largest is 18446.744073709551615 PB"
        );
        for text in [
            "1e",
            "1.",
            ".5 s",
            "1..2 s",
            "1e999999999999999999 s",
            "1e-99999999999999999999 s",
            "_1 s",
            "1 2 s",
        ] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn values_print_in_the_largest_unit_they_fill_and_never_lose_a_digit() {
        assert_eq!(Span::from_ps(1_234_567).to_string(), "1.234567 us");
        assert_eq!(Span::ZERO.to_string(), "0 ps");
        assert_eq!(Bytes::new(65_536).to_string(), "64 KiB");
        assert_eq!(Bytes::new(1_538).to_string(), "1.538 kB");
        assert_eq!(BitRate::from_gbps(2_500).to_string(), "2.5 Tb/s");
        assert_eq!(format!("{:.2}", Span::from_ps(1_234_567)), "1.23 us");
    }

    #[test]
    fn rates_round_for_the_benefit_of_the_link() {
        assert_eq!(BitRate::from_bps(3).time_to_send(Bytes::new(1)), Span::from_ps(2_666_666_666_667));
        assert_eq!(BitRate::from_bps(3) * Span::from_secs(1), Bytes::ZERO);
        assert_eq!(BitRate::ZERO.time_to_send(Bytes::new(1)), Span::MAX);
        assert_eq!(BitRate::per(Bytes::new(1_250), Span::from_us(1)), BitRate::from_gbps(10));
    }

    #[test]
    #[should_panic(expected = "overflow")]
    fn sums_beyond_the_range_panic() {
        let _ = Bytes::MAX + Bytes::new(1);
    }

    proptest! {
        #[test]
        fn printed_quantities_read_back_to_the_same_value(value: u64, shift in 0..64u32) {
            let value = value >> shift;
            prop_assert_eq!(Span::from_ps(value).to_string().parse(), Ok(Span::from_ps(value)));
            prop_assert_eq!(Time::from_ps(value).to_string().parse(), Ok(Time::from_ps(value)));
            prop_assert_eq!(Bytes::new(value).to_string().parse(), Ok(Bytes::new(value)));
            prop_assert_eq!(BitRate::from_bps(value).to_string().parse(), Ok(BitRate::from_bps(value)));
        }

        #[test]
        fn no_text_panics(text in "[-+0-9._eE]{0,40}[ a-zA-Z/µ]{0,6}") {
            let _ = (text.parse::<Span>(), text.parse::<Bytes>(), text.parse::<BitRate>());
        }

        #[test]
        fn wire_time_is_time_to_send(rate in WireTime::MIN_RATE.as_bps()..=WireTime::MAX_RATE.as_bps(), shift in 0..36u32, size: u16) {
            let rate = BitRate::from_bps((rate >> shift).max(WireTime::MIN_RATE.as_bps()));
            prop_assert_eq!(rate.wire_time().of(size), rate.time_to_send(Bytes::new(size.into())));
        }

        #[test]
        fn what_passes_in_the_time_it_takes_is_what_was_sent(rate in 1..u64::from(u32::MAX), amount in 0..u64::from(u32::MAX)) {
            // Rounding up the time adds less than what passes in 1 ps, so nothing is lost and less than one byte gained.
            let (rate, amount) = (BitRate::from_bps(rate), Bytes::new(amount));
            prop_assert_eq!(rate * rate.time_to_send(amount), amount);
        }

        #[test]
        fn time_saturates_at_never(ps: u64, span: u64) {
            let sum = Time::from_ps(ps) + Span::from_ps(span);
            prop_assert_eq!(sum.as_ps(), ps.saturating_add(span));
            prop_assert_eq!(Time::NEVER + Span::from_ps(span), Time::NEVER);
        }
    }
}
