/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * A window in segments with the slow start of TCP and its answers to losses, as SegmentWindow and RenoWindow of
 * narrows-proto/src/cc/parts; and what an acknowledgment reports.
 *
 *     Slow start   cwnd += min(acked, L); L = 1 after a timeout         RFC 5681 3.1, RFC 3465 2.2, 2.3
 *     Loss         ssthresh = cwnd = max(flight/2, 2)                   RFC 5681 3.1 Eq. 4, 3.2
 *     Timeout      ssthresh as above, cwnd = 1                          RFC 5681 3.1
 */
#ifndef NARROWS_WINDOW_H
#define NARROWS_WINDOW_H

#include "fixed.h"

/* The slow start threshold is never below two segments. */
#define NARROWS_LEAST (2 * NARROWS_SEGMENT)

/* No threshold yet, no moment yet. */
#define NARROWS_NEVER (~0ULL)

/* An acknowledgment. */
struct narrows_ack {
	u64 now_us;
	u32 rtt_us;	/* of the segment sent last among those acknowledged; 0 if there is none */
	u32 srtt_us;
	u32 acked;	/* segments */
	u32 marked;	/* of these */
	u8 round_start;	/* the first of data sent after the last one with round_start */
	u8 cwnd_limited;
	u8 in_recovery;	/* the window must not change */
	u8 unused[5];
};

struct narrows_window {
	u64 cwnd;		/* segments, Q32 */
	u64 ssthresh;		/* segments, Q32; NARROWS_NEVER before the first congestion */
	u64 credit;		/* acknowledged towards the next segment, Q32; DCTCP */
	u64 cwnd_before;	/* the last loss; 0 if there is nothing to take back */
	u64 ssthresh_before;
	u32 limit;		/* L, the most segments that one acknowledgment adds in slow start */
	u32 limit_after_timeout;
};

static inline void narrows_window_init(struct narrows_window *w, u32 cwnd, u32 limit, u32 limit_after_timeout)
{
	w->cwnd = (u64)cwnd << 32;
	w->ssthresh = NARROWS_NEVER;
	w->credit = 0;
	w->cwnd_before = 0;
	w->ssthresh_before = 0;
	w->limit = limit;
	w->limit_after_timeout = limit_after_timeout;
}

static inline u8 narrows_in_slow_start(const struct narrows_window *w)
{
	return w->cwnd < w->ssthresh;
}

/* Growth of slow start, for segments that were acknowledged. */
static inline u64 narrows_slow_start(const struct narrows_window *w, u32 acked)
{
	return narrows_min(acked, w->limit) << 32;
}

static inline void narrows_widen(struct narrows_window *w, u64 segments)
{
	w->cwnd = narrows_min(w->cwnd + segments, NARROWS_MAX_WINDOW);
}

/* A mark or a delay: the threshold becomes target, and the window too, which is `most` then. */
static inline void narrows_reduce(struct narrows_window *w, u64 target, u64 most)
{
	w->cwnd_before = 0;
	w->ssthresh = narrows_max(target, NARROWS_LEAST);
	w->cwnd = narrows_min(target, most);
	w->credit = 0;
}

/* Half of the part of the window that was in use. */
static inline u64 narrows_half_used(const struct narrows_window *w, u32 flight)
{
	return narrows_max(narrows_min((u64)flight << 32, w->cwnd) / 2, NARROWS_LEAST);
}

static inline void narrows_note(struct narrows_window *w)
{
	w->cwnd_before = w->cwnd;
	w->ssthresh_before = w->ssthresh;
}

/* A loss; flight is what was outstanding, in segments. */
static inline void narrows_halve(struct narrows_window *w, u32 flight)
{
	narrows_note(w);
	w->ssthresh = narrows_half_used(w, flight);
	w->cwnd = w->ssthresh;
	w->credit = 0;
}

/* A timeout; a repeated one leaves the threshold alone. */
static inline void narrows_collapse(struct narrows_window *w, u32 flight, u8 repeated)
{
	if (!repeated) {
		narrows_note(w);
		w->ssthresh = narrows_half_used(w, flight);
	}
	w->cwnd = NARROWS_SEGMENT;
	w->credit = 0;
	w->limit = narrows_min(w->limit, w->limit_after_timeout);
}

/* The last loss or timeout was none. */
static inline void narrows_undo(struct narrows_window *w)
{
	if (!w->cwnd_before)
		return;
	w->cwnd = narrows_max(w->cwnd, w->cwnd_before);
	w->ssthresh = narrows_max(w->ssthresh, w->ssthresh_before);
	w->cwnd_before = 0;
}

/* After an idle time: begins again with `cwnd` segments or less, and slow start up to three quarters of what it was. */
static inline void narrows_restart(struct narrows_window *w, u32 cwnd)
{
	w->cwnd_before = 0;
	w->ssthresh = narrows_max(w->ssthresh, w->cwnd - w->cwnd / 4);
	w->cwnd = narrows_min(w->cwnd, (u64)cwnd << 32);
	w->credit = 0;
}

/*
 * The round trip after a reduction, until something sent later is acknowledged (RFC 3168 6.1.2); reduced_us is NARROWS_NEVER
 * before the first.
 */
static inline u8 narrows_rests(u64 reduced_us, const struct narrows_ack *ack)
{
	u32 rtt = ack->rtt_us ? ack->rtt_us : ack->srtt_us;

	return reduced_us != NARROWS_NEVER && ack->now_us - reduced_us < rtt;
}

/*
 * The smallest of the values seen in a window of time, as RecentMin of narrows-proto: values that may still become the minimum,
 * oldest and smallest first, an eighth of the window apart.
 */
#define NARROWS_PLACES 10

struct narrows_recent {
	u64 at_us[NARROWS_PLACES];
	u32 value[NARROWS_PLACES];
	u32 len;
	u32 unused;
};

/* Takes in a value, forgets what is older than the window, and returns the minimum of the rest. */
static inline u32 narrows_recent_add(struct narrows_recent *r, u64 now_us, u32 value, u64 window_us)
{
	u32 i, j, len = r->len, expired = 0;

	for (i = 0; i < NARROWS_PLACES && i < len && now_us - r->at_us[i] > window_us; i++)
		expired++;
	for (i = 0; i < NARROWS_PLACES; i++) {
		j = i + expired;
		if (j >= NARROWS_PLACES)
			break;
		r->at_us[i] = r->at_us[j];
		r->value[i] = r->value[j];
	}
	len -= expired;
	for (i = 0; i < NARROWS_PLACES; i++) {
		j = len - 1;
		if (j >= NARROWS_PLACES || r->value[j] < value)
			break;
		len--;
	}
	j = len - 1;
	if (len < NARROWS_PLACES && (j >= NARROWS_PLACES || 8 * (now_us - r->at_us[j]) > window_us)) {
		r->at_us[len] = now_us;
		r->value[len] = value;
		len++;
	}
	r->len = len;
	return r->value[0];
}

/* The running fraction of marked segments, one sample per round (RFC 8257 3.3). */
struct narrows_fraction {
	u32 alpha;	/* Q31 */
	u32 acked;	/* segments since the round began */
	u32 marked;
	u32 unused;
};

/* alpha = (1 - g)·alpha + g·marked/acked, g in Q31. */
static inline void narrows_fraction_add(struct narrows_fraction *f, const struct narrows_ack *ack, u32 gain)
{
	u64 sample;

	f->acked += ack->acked;
	f->marked += ack->marked;
	if (!ack->round_start)
		return;
	if (f->acked) {
		sample = ((u64)f->marked << 31) / f->acked;
		f->alpha += (u32)((sample * gain) >> 31) - (u32)(((u64)f->alpha * gain) >> 31);
	}
	f->acked = 0;
	f->marked = 0;
}

#endif
