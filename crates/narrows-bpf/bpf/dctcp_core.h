/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * DCTCP (RFC 8257), as narrows-proto/src/cc/dctcp.rs has it, where sources and differences stand.
 *
 *     Once per round                              M = marked/acked, alpha = (1 - g)·alpha + g·M      RFC 8257 3.3
 *     First mark, and after each window that rests                      cwnd = cwnd·(1 - alpha/2)    RFC 8257 3.3
 *     Otherwise                                   the window grows like Reno's                       RFC 8257 3.4
 */
#ifndef NARROWS_DCTCP_CORE_H
#define NARROWS_DCTCP_CORE_H

#include "window.h"

struct narrows_dctcp_params {
	u32 gain;		/* g, Q31 */
	u32 initial_alpha;	/* Q31 */
	u32 min_window;		/* segments */
	u32 slow_start_limit;
	u32 limit_after_timeout;
	u32 unused;
};

struct narrows_dctcp {
	struct narrows_window window;
	struct narrows_fraction fraction;
	u64 reduced_us;		/* the last reduction by marks; NARROWS_NEVER before the first */
};

static inline void narrows_dctcp_init(struct narrows_dctcp *d, const struct narrows_dctcp_params *p, u32 cwnd)
{
	narrows_window_init(&d->window, cwnd, p->slow_start_limit, p->limit_after_timeout);
	d->fraction.alpha = p->initial_alpha;
	d->fraction.acked = 0;
	d->fraction.marked = 0;
	d->reduced_us = NARROWS_NEVER;
}

static inline void narrows_dctcp_remember(struct narrows_dctcp *d, const struct narrows_dctcp_params *p, u64 now_us,
					  u32 rtt_us)
{
}

static inline void narrows_dctcp_reduce(struct narrows_dctcp *d, const struct narrows_dctcp_params *p, u64 now_us)
{
	struct narrows_window *w = &d->window;
	/* alpha/2: Q31 of alpha is Q32 of it; one half is the most. */
	u64 target = w->cwnd - narrows_part(w->cwnd, d->fraction.alpha);

	narrows_reduce(w, narrows_max(target, (u64)p->min_window << 32), narrows_max(w->cwnd, NARROWS_LEAST));
	d->reduced_us = now_us;
}

static inline void narrows_dctcp_grow(struct narrows_dctcp *d, u32 acked)
{
	struct narrows_window *w = &d->window;

	if (narrows_in_slow_start(w)) {
		narrows_widen(w, narrows_slow_start(w, acked));
		return;
	}
	w->credit += (u64)acked << 32;
	if (w->credit >= w->cwnd) {
		w->credit -= w->cwnd;
		narrows_widen(w, NARROWS_SEGMENT);
	}
}

static inline void narrows_dctcp_on_ack(struct narrows_dctcp *d, const struct narrows_dctcp_params *p,
					const struct narrows_ack *ack)
{
	narrows_fraction_add(&d->fraction, ack, p->gain);
	if (narrows_rests(d->reduced_us, ack) || ack->in_recovery)
		return;
	if (ack->marked)
		narrows_dctcp_reduce(d, p, ack->now_us);
	else if (ack->cwnd_limited)
		narrows_dctcp_grow(d, ack->acked);
}

static inline void narrows_dctcp_on_loss(struct narrows_dctcp *d, u64 now_us, u32 flight)
{
	narrows_halve(&d->window, flight);
}

static inline void narrows_dctcp_on_timeout(struct narrows_dctcp *d, u64 now_us, u32 flight, u8 repeated)
{
	narrows_collapse(&d->window, flight, repeated);
}

/* Nothing was outstanding; the window restarts with `cwnd` segments if that is not 0. */
static inline void narrows_dctcp_on_idle(struct narrows_dctcp *d, u32 cwnd)
{
	if (cwnd)
		narrows_restart(&d->window, cwnd);
}

/* It is not paced. This sizes bursts as tcp_update_pacing_rate of Linux does: 2 in slow start, else 1.2; Q16. */
static inline u32 narrows_dctcp_pacing(const struct narrows_dctcp *d, const struct narrows_dctcp_params *p)
{
	return d->window.cwnd < d->window.ssthresh / 2 ? 2 << 16 : 78643;
}

#endif
