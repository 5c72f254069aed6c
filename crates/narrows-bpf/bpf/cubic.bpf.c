/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* CUBIC of the running kernel with a near-source loop beside it. */
#include "near.h"

#define KERNEL __attribute__((section(".ksyms")))

extern void cubictcp_init(struct sock *sk) KERNEL;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) KERNEL;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) KERNEL;
extern void cubictcp_state(struct sock *sk, u8 state) KERNEL;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) KERNEL;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) KERNEL;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) KERNEL;

char terms[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops")
void init(u64 *ctx)
{
	cubictcp_init((void *)ctx[0]);
	near_init((void *)ctx[0]);
}

SEC("struct_ops")
u32 ssthresh(u64 *ctx)
{
	return cubictcp_recalc_ssthresh((void *)ctx[0]);
}

SEC("struct_ops")
void cong_avoid(u64 *ctx)
{
	cubictcp_cong_avoid((void *)ctx[0], ctx[1], ctx[2]);
}

SEC("struct_ops")
void set_state(u64 *ctx)
{
	cubictcp_state((void *)ctx[0], ctx[1]);
}

SEC("struct_ops")
void cwnd_event(u64 *ctx)
{
	cubictcp_cwnd_event((void *)ctx[0], ctx[1]);
}

SEC("struct_ops")
void pkts_acked(u64 *ctx)
{
	cubictcp_acked((void *)ctx[0], (void *)ctx[1]);
}

SEC("struct_ops")
u32 undo_cwnd(u64 *ctx)
{
	return tcp_reno_undo_cwnd((void *)ctx[0]);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.name = "narrows_cubic",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)init,
	.ssthresh = (void *)ssthresh,
	.cong_avoid = (void *)cong_avoid,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.in_ack_event = (void *)in_ack_event,
	.pkts_acked = (void *)pkts_acked,
	.undo_cwnd = (void *)undo_cwnd,
};
