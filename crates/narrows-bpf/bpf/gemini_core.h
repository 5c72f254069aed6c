/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * GEMINI (Zeng et al., ICNP 2019), as narrows-proto/src/cc/gemini has it, where sources and differences stand.
 *
 *     DCN congested: this acknowledgment reports marks                                  III-B, Algorithm 1
 *     WAN congested: the minimum of a round > base RTT + T
 *     If either, and the last reduction is more than a round trip ago:
 *         F     = 4K/(C·RTT + K)                                                        Theorem 1, III-C
 *         cwnd  = cwnd·(1 - max(alpha·F if DCN, beta if WAN))
 *     If neither:
 *         h     = H·C·RTT, within bounds                                                III-D
 *         cwnd += h/cwnd for each segment acknowledged
 */
#ifndef NARROWS_GEMINI_CORE_H
#define NARROWS_GEMINI_CORE_H

#include "window.h"

#define NARROWS_NO_RTT (~0U)

struct narrows_gemini_params {
	u64 capacity;		/* C, bits per microsecond, Q10; 1 Mb/s to 100 Tb/s */
	u64 threshold;		/* K, bits; below 2^48 */
	u64 base_rtt_window_us;	/* 0: the base is remembered for ever */
	u64 largest_product;	/* C·RTT at which h is max_increase, bits; 0 if h is always min_increase */
	u32 min_increase;	/* segments per round, Q22 */
	u32 max_increase;
	u32 delay_threshold_us;	/* T */
	u32 max_base_rtt_us;	/* NARROWS_NO_RTT if there is none */
	u32 beta;		/* Q32 */
	u32 max_scale;		/* the largest F, Q29 */
	u32 gain;		/* g, Q31 */
	u32 initial_alpha;	/* Q31 */
	u32 pacing;		/* Q16 */
	u32 slow_start_pacing;
	u32 min_window;		/* segments */
	u32 slow_start_limit;
	u32 limit_after_timeout;
	u8 ecn;
	u8 delay;
	u8 slow_start_ignores_delay;
	u8 unused;
};

struct narrows_gemini {
	struct narrows_window window;
	struct narrows_fraction fraction;
	u64 reduced_us;		/* the last reduction; NARROWS_NEVER before the first */
	u32 base_rtt_us;	/* NARROWS_NO_RTT before the first sample */
	u32 round_min_us;	/* NARROWS_NO_RTT if nothing of this round was sent after the last reduction */
	u32 scale;		/* F for this base, Q29 */
	u32 increase;		/* h for this base, segments per round, Q22 */
	struct narrows_recent recent;	/* of the base, if it is forgotten */
	u8 delayed;		/* the last complete round had too much delay */
	u8 unused[7];
};

static inline void narrows_gemini_init(struct narrows_gemini *g, const struct narrows_gemini_params *p, u32 cwnd)
{
	narrows_window_init(&g->window, cwnd, p->slow_start_limit, p->limit_after_timeout);
	g->fraction.alpha = p->initial_alpha;
	g->fraction.acked = 0;
	g->fraction.marked = 0;
	g->reduced_us = NARROWS_NEVER;
	g->base_rtt_us = NARROWS_NO_RTT;
	g->round_min_us = NARROWS_NO_RTT;
	g->scale = 0;
	g->increase = p->min_increase;
	g->recent.len = 0;
	g->delayed = 0;
}

/* A round-trip time becomes part of the base, F and h follow it. */
static inline void narrows_gemini_remember(struct narrows_gemini *g, const struct narrows_gemini_params *p, u64 now_us,
					   u32 rtt_us)
{
	u64 product, increase;
	u32 base = narrows_min(g->base_rtt_us, rtt_us);

	if (p->base_rtt_window_us)
		base = narrows_recent_add(&g->recent, now_us, rtt_us, p->base_rtt_window_us);
	base = narrows_min(base, p->max_base_rtt_us);
	if (base == g->base_rtt_us)
		return;
	g->base_rtt_us = base;
	/* Beyond a minute there are no paths; C·RTT then is below 2^53 bits. */
	product = (p->capacity * narrows_min(base, 1U << 26)) >> 10;
	g->scale = narrows_min(narrows_ratio(4 * p->threshold, product + p->threshold) >> 1, p->max_scale);
	increase = p->min_increase;
	if (p->largest_product) {
		u64 part = narrows_ratio(narrows_min(product, p->largest_product), p->largest_product);

		increase = narrows_max(increase, (p->max_increase * part) >> 30);
	}
	g->increase = increase;
}

static inline void narrows_gemini_reduced(struct narrows_gemini *g, u64 now_us)
{
	g->reduced_us = now_us;
	g->round_min_us = NARROWS_NO_RTT;
}

static inline void narrows_gemini_reduce(struct narrows_gemini *g, const struct narrows_gemini_params *p, u64 now_us,
					 u8 marked, u8 delayed)
{
	struct narrows_window *w = &g->window;
	/* Marks take half of the window at most, Q32. */
	u64 by_marks = narrows_min(((u64)g->fraction.alpha * g->scale) >> 28, 1U << 31);
	u32 cut = narrows_max(marked ? by_marks : 0, delayed ? p->beta : 0);
	u64 target = w->cwnd - narrows_part(w->cwnd, cut);

	narrows_reduce(w, narrows_max(target, (u64)p->min_window << 32), w->cwnd);
	narrows_gemini_reduced(g, now_us);
}

static inline void narrows_gemini_grow(struct narrows_gemini *g, u32 acked)
{
	struct narrows_window *w = &g->window;

	if (narrows_in_slow_start(w)) {
		narrows_widen(w, narrows_min(narrows_slow_start(w, acked), w->ssthresh - w->cwnd));
	} else {
		/* h·acked/cwnd; Q22 over Q20, times 2^30, is Q32. */
		narrows_widen(w, narrows_ratio((u64)g->increase * narrows_min(acked, 1U << 16), w->cwnd >> 12));
	}
}

static inline void narrows_gemini_on_ack(struct narrows_gemini *g, const struct narrows_gemini_params *p,
					 const struct narrows_ack *ack)
{
	u8 rests = narrows_rests(g->reduced_us, ack);
	u8 marked = ack->marked && p->ecn;
	u8 delayed;

	narrows_fraction_add(&g->fraction, ack, p->gain);
	if (ack->round_start) {
		/* Without a base there is no sample of the round either. */
		g->delayed = p->delay && g->round_min_us != NARROWS_NO_RTT &&
			     g->round_min_us > (u64)g->base_rtt_us + p->delay_threshold_us;
		g->round_min_us = NARROWS_NO_RTT;
	}
	if (ack->rtt_us) {
		narrows_gemini_remember(g, p, ack->now_us, ack->rtt_us);
		if (!rests)
			g->round_min_us = narrows_min(g->round_min_us, ack->rtt_us);
	}
	delayed = g->delayed && !(p->slow_start_ignores_delay && narrows_in_slow_start(&g->window));
	if (ack->in_recovery)
		return;
	if (marked || delayed) {
		if (!rests)
			narrows_gemini_reduce(g, p, ack->now_us, marked, delayed);
	} else if (ack->cwnd_limited) {
		narrows_gemini_grow(g, ack->acked);
	}
}

static inline void narrows_gemini_on_loss(struct narrows_gemini *g, u64 now_us, u32 flight)
{
	narrows_halve(&g->window, flight);
	narrows_gemini_reduced(g, now_us);
}

static inline void narrows_gemini_on_timeout(struct narrows_gemini *g, u64 now_us, u32 flight, u8 repeated)
{
	narrows_collapse(&g->window, flight, repeated);
	narrows_gemini_reduced(g, now_us);
}

/* Nothing was outstanding; the window restarts with `cwnd` segments if that is not 0. */
static inline void narrows_gemini_on_idle(struct narrows_gemini *g, u32 cwnd)
{
	g->round_min_us = NARROWS_NO_RTT;
	if (cwnd)
		narrows_restart(&g->window, cwnd);
}

/* The rate is this times cwnd/RTT, Q16. */
static inline u32 narrows_gemini_pacing(const struct narrows_gemini *g, const struct narrows_gemini_params *p)
{
	return narrows_in_slow_start(&g->window) ? p->slow_start_pacing : p->pacing;
}

#endif
