/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* BBR of the running kernel with a near-source loop beside it. */
#include "near.h"

#define KERNEL __attribute__((section(".ksyms")))

extern void bbr_init(struct sock *sk) KERNEL;
extern void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs) KERNEL;
extern u32 bbr_sndbuf_expand(struct sock *sk) KERNEL;
extern u32 bbr_undo_cwnd(struct sock *sk) KERNEL;
extern void bbr_cwnd_event(struct sock *sk, enum tcp_ca_event event) KERNEL;
extern u32 bbr_ssthresh(struct sock *sk) KERNEL;
extern u32 bbr_min_tso_segs(struct sock *sk) KERNEL;
extern void bbr_set_state(struct sock *sk, u8 state) KERNEL;

char terms[] SEC("license") = "Dual MIT/GPL";

SEC("struct_ops")
void init(u64 *ctx)
{
	bbr_init((void *)ctx[0]);
	near_init((void *)ctx[0]);
}

SEC("struct_ops")
void cong_control(u64 *ctx)
{
	bbr_main((void *)ctx[0], ctx[1], ctx[2], (void *)ctx[3]);
}

SEC("struct_ops")
u32 sndbuf_expand(u64 *ctx)
{
	return bbr_sndbuf_expand((void *)ctx[0]);
}

SEC("struct_ops")
u32 undo_cwnd(u64 *ctx)
{
	return bbr_undo_cwnd((void *)ctx[0]);
}

SEC("struct_ops")
void cwnd_event(u64 *ctx)
{
	bbr_cwnd_event((void *)ctx[0], ctx[1]);
}

SEC("struct_ops")
u32 ssthresh(u64 *ctx)
{
	return bbr_ssthresh((void *)ctx[0]);
}

SEC("struct_ops")
u32 min_tso_segs(u64 *ctx)
{
	return bbr_min_tso_segs((void *)ctx[0]);
}

SEC("struct_ops")
void set_state(u64 *ctx)
{
	bbr_set_state((void *)ctx[0], ctx[1]);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.name = "narrows_bbr",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)init,
	.cong_control = (void *)cong_control,
	.sndbuf_expand = (void *)sndbuf_expand,
	.undo_cwnd = (void *)undo_cwnd,
	.cwnd_event = (void *)cwnd_event,
	.in_ack_event = (void *)in_ack_event,
	.ssthresh = (void *)ssthresh,
	.min_tso_segs = (void *)min_tso_segs,
	.set_state = (void *)set_state,
};
