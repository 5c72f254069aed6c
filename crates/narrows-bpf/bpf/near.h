/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Joins the near-source loop of Annulus to the sockets of the kernel, beside any control. Messages of switches (CNM of 802.1Qau) come
 * as frames: `notice`, which stands where they enter a host, takes them in and leaves them with the connection. The connection looks
 * at each acknowledgment, and caps the rate at which it is paced (SO_MAX_PACING_RATE).
 */
#ifndef NARROWS_NEAR_H
#define NARROWS_NEAR_H

#include "kernel.h"
#include "near_core.h"

#define SOL_SOCKET 1
#define SO_MAX_PACING_RATE 47

#define TC_ACT_UNSPEC (-1)
#define TC_ACT_SHOT 2

/* 0x22E7 in the order of the network. */
#define ETH_P_CNM 0xe722

/* Headers and framing around payload on the wire: IPv4, TCP with timestamps, Ethernet with preamble and gap. */
#define AROUND (20 + 32 + 14 + 24)

/* Written before the program is loaded. */
struct narrows_near_params near_params SEC(".data.near");

/* Messages that wait for an acknowledgment; those that do not fit are forgotten. */
#define NOTICES 16

struct near_loop {
	struct narrows_near near;
	u64 cap;		/* SO_MAX_PACING_RATE, bytes per second */
	u64 bytes_sent;		/* of the socket, that the loop knows of */
	u32 segments_sent;
	u32 read;
	u32 written;		/* by `notice` alone */
	u8 feedback[NOTICES];
};

struct {
	int (*type)[BPF_MAP_TYPE_SK_STORAGE];
	int (*map_flags)[BPF_F_NO_PREALLOC];
	int *key;
	struct near_loop *value;
} near_loops SEC(".maps");

/* A message of a congestion point. It quotes the beginning of the packet that was sampled, from its EtherType on. */
SEC("tc")
int notice(struct __sk_buff *skb)
{
	u8 frame[64] __attribute__((aligned(8)));
	struct bpf_sock_tuple tuple;
	struct near_loop *loop;
	void *sk;

	if (skb->protocol != ETH_P_CNM || bpf_skb_load_bytes(skb, 0, frame, sizeof(frame)))
		return TC_ACT_UNSPEC;
	tuple.saddr = *(u32 *)(frame + 56);
	tuple.daddr = *(u32 *)(frame + 52);
	tuple.sport = *(unsigned short *)(frame + 62);
	tuple.dport = *(unsigned short *)(frame + 60);
	sk = bpf_sk_lookup_tcp(skb, &tuple, sizeof(tuple), BPF_F_CURRENT_NETNS, 0);
	if (!sk)
		return TC_ACT_UNSPEC;
	loop = bpf_sk_storage_get(&near_loops, sk, 0, 0);
	if (loop && loop->written - loop->read < NOTICES) {
		loop->feedback[loop->written % NOTICES] = frame[15] & 63;
		loop->written++;
	}
	bpf_sk_release(sk);
	return loop ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

static __attribute__((always_inline)) void near_init(struct tcp_sock *tp)
{
	struct near_loop *loop;

	if (!near_params.line_rate)
		return;
	loop = bpf_sk_storage_get(&near_loops, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!loop)
		return;
	narrows_near_init(&loop->near, tp->tcp_mstamp * 1000, bpf_get_prandom_u32());
	loop->cap = ~0ULL;
	loop->bytes_sent = tp->bytes_sent;
	loop->segments_sent = tp->data_segs_out;
}

/* Steps of the loop as functions of their own, which the verifier looks at once: together they are too much for it. */
__attribute__((noinline)) int near_on_sent(struct narrows_near *n, u64 now, u32 bytes)
{
	if (n)
		narrows_near_on_sent(n, &near_params, now, bytes);
	return 0;
}

__attribute__((noinline)) int near_advance(struct narrows_near *n, u64 now, u64 rtt)
{
	if (n)
		narrows_near_advance(n, &near_params, now, rtt);
	return 0;
}

__attribute__((noinline)) int near_on_cnm(struct narrows_near *n, u64 now, u32 feedback)
{
	if (n)
		narrows_near_on_cnm(n, &near_params, now, feedback);
	return 0;
}

/* The loop alone keeps the connection from sending. */
static __attribute__((always_inline)) u8 near_holds(struct near_loop *loop, struct tcp_sock *tp, struct sock *sk)
{
	u32 flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;

	return loop->near.phase && sk->sk_pacing_rate >= loop->cap && flight < tp->snd_cwnd && tp->write_seq != tp->snd_nxt;
}

SEC("struct_ops")
void in_ack_event(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct near_loop *loop;
	u64 now = tp->tcp_mstamp * 1000, cap;
	u32 segments, value, i;

	if (!near_params.line_rate)
		return;
	loop = bpf_sk_storage_get(&near_loops, tp, 0, 0);
	if (!loop)
		return;
	segments = tp->data_segs_out - loop->segments_sent;
	if (segments) {
		u32 bytes = narrows_min(tp->bytes_sent - loop->bytes_sent, 1 << 29);

		near_on_sent(&loop->near, now, bytes + narrows_min(segments, 1 << 20) * AROUND);
		loop->segments_sent += segments;
		loop->bytes_sent = tp->bytes_sent;
	}
	if (near_holds(loop, tp, (struct sock *)tp)) {
		narrows_near_on_held(&loop->near, now);
		if (near_params.app_limited)
			tp->app_limited = narrows_max(tp->delivered + tp->packets_out, 1);
	}
	near_advance(&loop->near, now, (u64)(tp->srtt_us >> 3) * 1000);
	for (i = 0; i < NOTICES && loop->read != loop->written; i++) {
		u32 feedback = loop->feedback[loop->read % NOTICES];

		loop->read++;
		if (feedback)
			near_on_cnm(&loop->near, now, feedback);
	}
	cap = narrows_near_payload(&loop->near, tp->mss_cache, AROUND);
	if (cap == loop->cap)
		return;
	loop->cap = cap;
	/* The option has four bytes here; all ones stand for none. */
	value = narrows_min(cap, ~0U);
	bpf_setsockopt(tp, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value));
}

#endif
