/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * The near-source loop of Annulus, as narrows-proto/src/annulus has it: QCN's reaction point (reaction/qcn.rs, 802.1Qau clause 32)
 * beside an end-to-end control. Sources and differences stand there.
 *
 *     CNM          no R yet: R = target = the rate measured lately
 *                  target = R if a byte stage has passed; R = R·max(min_dec_fac, 1 - Gd·Fb); stages = 0
 *     Recovery     after each byte_reset bytes, and each time_reset:
 *                  target += 0, R_AI or R_HAI·n; R = (R + target)/2; R at most cap times the rate measured lately
 *     Release      R is line rate, or it has held up nothing for a while
 *
 * Rates are bit/s, Q8, below 2^55. Times are nanoseconds; timers that passed while nobody looked are caught up with.
 */
#ifndef NARROWS_NEAR_CORE_H
#define NARROWS_NEAR_CORE_H

#include "fixed.h"

struct narrows_near_params {
	u64 line_rate;		/* 0: there is no loop */
	u64 ai_rate;
	u64 hai_rate;
	u64 min_rate;
	u64 byte_reset;		/* BC, bytes; below 2^40 */
	u64 time_reset_ns;	/* T; below 2^44 */
	u64 measure_over_ns;	/* not 0, below 2^44 */
	u64 dc_rtt_ns;
	u64 release_after_ns;	/* 0: a smoothed round trip */
	u32 cap;		/* Q16; 0 if there is none */
	u32 jitter;		/* Q31, below 1 */
	u32 gd;			/* Q31, 1 at most */
	u32 min_dec_fac;	/* Q31 */
	u32 threshold;		/* F */
	u8 pseudo_code;		/* Pan's pseudo-code v2.3 rather than the standard */
	u8 start_at_line;	/* the first message cuts from line rate */
	u8 app_limited;		/* what is sent while the loop holds the sender up is limited by the application */
	u8 unused;
};

enum narrows_near_phase {
	NARROWS_NEAR_OFF,	/* there is no R */
	NARROWS_NEAR_FAST,
	NARROWS_NEAR_ACTIVE,
	NARROWS_NEAR_HYPER,
};

struct narrows_near {
	u64 from_ns;	/* the interval in which is measured, what was sent in it, and the rate of the one before */
	u64 sent;	/* bytes */
	u64 before;
	u64 last_ns;	/* the last packet, and its size */
	u64 current;	/* R */
	u64 target;
	u64 timer_ns;
	u64 held_ns;	/* it held up a sender last, or began */
	long long bytes_left;
	u32 last;
	u32 random;	/* not 0 */
	u32 byte_stage;
	u32 time_stage;
	u8 phase;
	u8 unused[7];
};

/* Stages that an acknowledgment catches up with at most. */
#define NARROWS_NEAR_STAGES 16

/* value·part, part in Q31 and below two. */
static inline u64 narrows_part_q31(u64 value, u32 part)
{
	return (value >> 31) * part + (((value & 0x7fffffff) * part) >> 31);
}

/* The same, rounded to the nearest; part is at most four in Q30. */
static inline u64 narrows_part_q30(u64 value, u64 part)
{
	return (value >> 30) * part + (((value & 0x3fffffff) * part + (1 << 29)) >> 30);
}

/* Bit/s in Q8 of so many bytes, below 2^34, in so many nanoseconds, from 1 to 2^54. */
static inline u64 narrows_rate(u64 bytes, u64 ns)
{
	u64 ratio = narrows_min(narrows_ratio(bytes, ns), (1ULL << 47) - 1);	/* bytes per nanosecond, Q30 */

	return (ratio >> 16) * 8000000000ULL / 64 + (((ratio & 0xffff) * 8000000000ULL) >> 22);
}

/* Uniform, Q32 (Marsaglia, Xorshift RNGs, 2003). */
static inline u32 narrows_near_random(struct narrows_near *n)
{
	u32 x = n->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	n->random = x;
	return x;
}

static inline void narrows_near_init(struct narrows_near *n, u64 now_ns, u32 seed)
{
	n->from_ns = now_ns;
	n->sent = 0;
	n->before = 0;
	n->last_ns = now_ns;
	n->current = 0;
	n->target = 0;
	n->timer_ns = 0;
	n->held_ns = 0;
	n->bytes_left = 0;
	n->last = 0;
	n->random = seed ? seed : 1;
	n->byte_stage = 0;
	n->time_stage = 0;
	n->phase = NARROWS_NEAR_OFF;
}

/* The rate from the beginning of the interval on if `bytes` were sent until then. */
static inline u64 narrows_near_over(const struct narrows_near *n, u64 bytes, u64 until_ns, u64 whole_ns)
{
	u64 passed = until_ns > n->from_ns ? until_ns - n->from_ns : 0;

	if (passed >= whole_ns)
		return narrows_rate(bytes, passed);
	return narrows_rate(bytes, whole_ns) + narrows_part_q30(n->before, narrows_ratio(whole_ns - passed, whole_ns));
}

/* The rate at which packets left lately. */
static inline u64 narrows_near_measured(const struct narrows_near *n, const struct narrows_near_params *p, u64 now_ns)
{
	u64 until_last = narrows_near_over(n, n->sent, n->last_ns, p->measure_over_ns);
	u64 if_one_came_now = narrows_near_over(n, n->sent + n->last, now_ns, p->measure_over_ns);

	return narrows_min(until_last, if_one_came_now);
}

/* The part of a setting that a countdown or timer takes, Q31. */
static inline u32 narrows_near_spread(struct narrows_near *n, const struct narrows_near_params *p, u8 halved)
{
	u32 part = NARROWS_ONE_Q31;

	if (p->jitter)
		part = NARROWS_ONE_Q31 - p->jitter + (u32)(((u64)p->jitter * narrows_near_random(n)) >> 31);
	return halved ? part / 2 : part;
}

static inline void narrows_near_count_bytes(struct narrows_near *n, const struct narrows_near_params *p, u8 halved)
{
	u64 bytes = narrows_part_q30(p->byte_reset, narrows_near_spread(n, p, halved) >> 1);

	n->bytes_left = narrows_max(bytes, 1);
}

static inline void narrows_near_count_time(struct narrows_near *n, const struct narrows_near_params *p, u64 from_ns,
					   u8 halved)
{
	u64 ns = narrows_part_q30(p->time_reset_ns, narrows_near_spread(n, p, halved) >> 1);

	n->timer_ns = from_ns + narrows_max(ns, 1);
}

/* The countdown or timer that has just reached this stage starts again with half its length. */
static inline u8 narrows_near_halved(const struct narrows_near *n, const struct narrows_near_params *p, u32 stage)
{
	return p->pseudo_code ? stage >= p->threshold : n->phase == NARROWS_NEAR_HYPER;
}

/* An event: `stage` is the one that it has raised. */
static inline void narrows_near_recover(struct narrows_near *n, const struct narrows_near_params *p, u32 stage)
{
	u32 smaller = narrows_min(n->byte_stage, n->time_stage);
	u64 increase = 0;

	if (n->phase == NARROWS_NEAR_FAST && stage < p->threshold) {
		/* The target stays. */
	} else if (smaller < p->threshold) {
		n->phase = NARROWS_NEAR_ACTIVE;
		increase = p->ai_rate;
	} else {
		u64 times = (u64)(smaller - p->threshold) + !p->pseudo_code;

		n->phase = NARROWS_NEAR_HYPER;
		/* Twice line rate releases like any more. */
		increase = times > 0xffff ? 2 * p->line_rate : narrows_min(times * p->hai_rate, 2 * p->line_rate);
	}
	if ((n->byte_stage == 1 || n->time_stage == 1) && n->target > 10 * n->current)
		n->target /= 8;
	else
		n->target += increase;
	n->current = (n->current + n->target) / 2;
	if (n->current >= p->line_rate)
		n->phase = NARROWS_NEAR_OFF;
}

/* After a step of recovery. */
static inline void narrows_near_settle(struct narrows_near *n, const struct narrows_near_params *p, u64 now_ns)
{
	u64 measured;

	if (!n->phase || !p->cap)
		return;
	measured = narrows_near_measured(n, p, now_ns);
	measured = (measured >> 16) * p->cap + (((measured & 0xffff) * p->cap) >> 16);
	n->current = narrows_max(narrows_min(n->current, measured), p->min_rate);
}

/* A message of a congestion point; feedback from 1 to 63. */
static inline void narrows_near_on_cnm(struct narrows_near *n, const struct narrows_near_params *p, u64 now_ns,
				       u32 feedback)
{
	u64 cut = (u64)p->gd * feedback;
	u32 factor = cut < NARROWS_ONE_Q31 ? NARROWS_ONE_Q31 - (u32)cut : 0;

	if (!n->phase) {
		n->current = p->line_rate;
		if (!p->start_at_line) {
			n->current = narrows_min(n->current, narrows_near_measured(n, p, now_ns));
			n->current = narrows_max(n->current, p->min_rate);
		}
		n->held_ns = now_ns;
	}
	if (!n->phase || n->byte_stage) {
		n->target = n->current;
		narrows_near_count_bytes(n, p, 0);
	}
	n->current = narrows_part_q31(n->current, narrows_max(factor, p->min_dec_fac));
	n->current = narrows_max(n->current, p->min_rate);
	n->byte_stage = 0;
	n->time_stage = 0;
	n->phase = NARROWS_NEAR_FAST;
	narrows_near_count_time(n, p, now_ns, 0);
}

/* Time has passed; rtt_ns is the smoothed round-trip time, 0 if there is none. */
static inline void narrows_near_advance(struct narrows_near *n, const struct narrows_near_params *p, u64 now_ns,
					u64 rtt_ns)
{
	u64 patience = p->release_after_ns ? p->release_after_ns : narrows_max(rtt_ns, p->dc_rtt_ns);
	u32 i;

	if (!n->phase)
		return;
	if (now_ns > n->held_ns && now_ns - n->held_ns > patience) {
		n->phase = NARROWS_NEAR_OFF;
		return;
	}
	if (n->timer_ns > now_ns)
		return;
	for (i = 0; i < NARROWS_NEAR_STAGES && n->phase && n->timer_ns <= now_ns; i++) {
		n->time_stage++;
		narrows_near_count_time(n, p, n->timer_ns, narrows_near_halved(n, p, n->time_stage));
		narrows_near_recover(n, p, n->time_stage);
	}
	narrows_near_settle(n, p, now_ns);
}

/* So many bytes on the wire have left, below 2^31; they count as one packet. */
static inline void narrows_near_on_sent(struct narrows_near *n, const struct narrows_near_params *p, u64 now_ns,
					u32 bytes)
{
	u64 passed = now_ns > n->from_ns ? now_ns - n->from_ns : 0;

	n->sent += bytes;
	n->last = bytes;
	n->last_ns = now_ns;
	if (passed >= p->measure_over_ns) {
		n->before = narrows_rate(n->sent, passed);
		n->from_ns = now_ns;
		n->sent = 0;
	}
	if (!n->phase)
		return;
	n->bytes_left -= bytes;
	if (n->bytes_left > 0)
		return;
	n->byte_stage++;
	narrows_near_count_bytes(n, p, narrows_near_halved(n, p, n->byte_stage));
	narrows_near_recover(n, p, n->byte_stage);
	narrows_near_settle(n, p, now_ns);
}

/* A sender could send, but for this loop. */
static inline void narrows_near_on_held(struct narrows_near *n, u64 now_ns)
{
	n->held_ns = now_ns;
}

/*
 * Bytes per second of payload for R in packets of mss bytes of payload and `around` bytes of headers and framing; all ones if there
 * is no R.
 */
static inline u64 narrows_near_payload(const struct narrows_near *n, u32 mss, u32 around)
{
	u64 rate = n->current >> 11;	/* below 2^44 */

	if (!n->phase)
		return ~0ULL;
	return rate * (mss & 0xffff) / ((mss & 0xffff) + around);
}

#endif
