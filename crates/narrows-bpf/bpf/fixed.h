/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Arithmetic of congestion controls without floats: for BPF programs, and for tests that hold it against the controls of
 * narrows-proto. A name Qn says that a number counts units of 2^-n. Everything is rounded down.
 */
#ifndef NARROWS_FIXED_H
#define NARROWS_FIXED_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

/* One segment, Q32. Windows are smaller than 2^24 segments. */
#define NARROWS_SEGMENT (1ULL << 32)
#define NARROWS_MAX_WINDOW (1ULL << 56)

/* One, Q31. */
#define NARROWS_ONE_Q31 (1U << 31)

static inline u64 narrows_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 narrows_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* value·part, part in Q32 and below one. */
static inline u64 narrows_part(u64 value, u32 part)
{
	return (value >> 32) * part + (((value & 0xffffffff) * part) >> 32);
}

/*
 * a/d in Q30: a long division, ten bits at a time, as a remainder below 2^54 has no room for more. a/d is below 2^34, and d is
 * from 1 to 2^54.
 */
static inline u64 narrows_ratio(u64 a, u64 d)
{
	u64 quotient = a / d, rest = a % d;

	rest <<= 10;
	quotient = (quotient << 10) + rest / d;
	rest = (rest % d) << 10;
	quotient = (quotient << 10) + rest / d;
	rest = (rest % d) << 10;
	return (quotient << 10) + rest / d;
}

/*
 * Bytes per second at which a window (segments, Q32) of segments of mss bytes leaves in srtt/factor; srtt in eighths of a
 * microsecond and not zero, as the kernel has it, factor in Q16, mss below 2^16.
 */
static inline u64 narrows_pacing(u64 window, u32 mss, u32 srtt_8us, u32 factor)
{
	u64 bytes = ((window >> 16) * mss) >> 16;	/* below 2^40 */
	u64 rate = bytes * 8000000 / srtt_8us;		/* below 2^63 */

	return (rate >> 16) * factor + (((rate & 0xffff) * factor) >> 16);
}

#endif
