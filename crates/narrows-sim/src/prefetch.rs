//! Hints to the processor, the one place with `unsafe` in this crate.
//!
//! A network of a thousand hosts does not fit the nearest caches. What a window needs is known before it is needed, so
//! it is requested early: on a machine where a miss costs 150 ns this triples the speed of large networks (see
//! `cargo xtask bench`, fat tree k = 32).

/// Prefetches the cache line in which `place` begins. Has no effect but on speed.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching has no architectural effect, and the address is that of a live reference.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Prefetches every cache line of `place`.
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn prefetch_lines<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<T>()).step_by(64) {
        // SAFETY: as above; the address lies within a live reference.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast::<i8>().add(offset));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Prefetches the element at `index`, if there is one.
#[inline(always)]
pub(crate) fn prefetch_at<T>(places: &[T], index: usize) {
    if let Some(place) = places.get(index) {
        prefetch(place);
    }
}
