/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* The arithmetic of the controls as functions of a library, for tests. */
#include "dctcp_core.h"
#include "gemini_core.h"
#include "near_core.h"

#define LIBRARY(name)                                                                                                  \
	u64 core_##name##_sizes(void)                                                                                  \
	{                                                                                                              \
		return sizeof(struct narrows_##name) << 32 | sizeof(struct narrows_##name##_params);                   \
	}                                                                                                              \
	void core_##name##_init(struct narrows_##name *c, const struct narrows_##name##_params *p, u32 cwnd)           \
	{                                                                                                              \
		narrows_##name##_init(c, p, cwnd);                                                                     \
	}                                                                                                              \
	void core_##name##_remember(struct narrows_##name *c, const struct narrows_##name##_params *p, u64 now_us,     \
				    u32 rtt_us)                                                                        \
	{                                                                                                              \
		narrows_##name##_remember(c, p, now_us, rtt_us);                                                       \
	}                                                                                                              \
	void core_##name##_on_ack(struct narrows_##name *c, const struct narrows_##name##_params *p,                   \
				  const struct narrows_ack *ack)                                                       \
	{                                                                                                              \
		narrows_##name##_on_ack(c, p, ack);                                                                    \
	}                                                                                                              \
	void core_##name##_on_loss(struct narrows_##name *c, u64 now_us, u32 flight)                                   \
	{                                                                                                              \
		narrows_##name##_on_loss(c, now_us, flight);                                                           \
	}                                                                                                              \
	void core_##name##_on_timeout(struct narrows_##name *c, u64 now_us, u32 flight, u8 repeated)                   \
	{                                                                                                              \
		narrows_##name##_on_timeout(c, now_us, flight, repeated);                                              \
	}                                                                                                              \
	void core_##name##_on_idle(struct narrows_##name *c, u32 cwnd)                                                 \
	{                                                                                                              \
		narrows_##name##_on_idle(c, cwnd);                                                                     \
	}

LIBRARY(gemini)
LIBRARY(dctcp)

void core_undo(struct narrows_window *w)
{
	narrows_undo(w);
}

u64 core_pacing(u64 window, u32 mss, u32 srtt_8us, u32 factor)
{
	return narrows_pacing(window, mss, srtt_8us, factor);
}

u64 core_near_sizes(void)
{
	return sizeof(struct narrows_near) << 32 | sizeof(struct narrows_near_params);
}

void core_near_init(struct narrows_near *n, u64 now_ns, u32 seed)
{
	narrows_near_init(n, now_ns, seed);
}

void core_near_on_cnm(struct narrows_near *n, const struct narrows_near_params *p, u64 now_ns, u32 feedback)
{
	narrows_near_on_cnm(n, p, now_ns, feedback);
}

void core_near_advance(struct narrows_near *n, const struct narrows_near_params *p, u64 now_ns, u64 rtt_ns)
{
	narrows_near_advance(n, p, now_ns, rtt_ns);
}

void core_near_on_sent(struct narrows_near *n, const struct narrows_near_params *p, u64 now_ns, u32 bytes)
{
	narrows_near_on_sent(n, p, now_ns, bytes);
}

void core_near_on_held(struct narrows_near *n, u64 now_ns)
{
	narrows_near_on_held(n, now_ns);
}

u64 core_near_payload(const struct narrows_near *n, u32 mss, u32 around)
{
	return narrows_near_payload(n, mss, around);
}
