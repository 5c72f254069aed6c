/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Joins a control to the sockets of the kernel. Who includes this defines CONTROL, the name of the control as its core has it,
 * and PACED, whether its packets are paced.
 *
 * The control owns window and threshold (the form with cong_control, Linux 6.10 or newer): the kernel detects losses and
 * retransmits, but neither spreads a reduction over a round trip (PRR) nor cuts for a mark by itself.
 */
#include "near.h"

#define JOIN(a, b, c) a##b##c
#define NAMED(a, b, c) JOIN(a, b, c)
#define CORE_(function) NAMED(narrows_, CONTROL, _##function)
#define STATE struct NAMED(narrows_, CONTROL, )
#define PARAMS struct NAMED(narrows_, CONTROL, _params)
#define QUOTED_(text) #text
#define QUOTED(text) QUOTED_(text)

char terms[] SEC("license") = "Dual MIT/GPL";

/* Written before the program is loaded. */
PARAMS params SEC(".data.params");

struct connection {
	STATE state;
	u32 round_end;		/* a round ends when something sent after so many segments had been delivered is acknowledged */
	u32 initial_window;
	u32 delivered;		/* segments that the control knows of */
	u32 delivered_ce;
	u32 ce_rcv_nxt;		/* as receiver: what had been received when the last packet came, */
	u8 ce;			/* and whether that was marked */
	u8 new_timeout;		/* the timeout to come is no repeated one */
};

struct {
	int (*type)[BPF_MAP_TYPE_SK_STORAGE];
	int (*map_flags)[BPF_F_NO_PREALLOC];
	int *key;
	struct connection *value;
} connections SEC(".maps");

static __attribute__((always_inline)) struct connection *connection_of(void *sk)
{
	return bpf_sk_storage_get(&connections, sk, 0, 0);
}

/* Takes over a window that the kernel has changed. */
static __attribute__((always_inline)) void take_window(struct connection *c, const struct tcp_sock *tp)
{
	struct narrows_window *w = &c->state.window;

	if ((u32)(w->cwnd >> 32) != tp->snd_cwnd)
		w->cwnd = narrows_max(1, tp->snd_cwnd & 0xffffff) << 32;
}

static __attribute__((always_inline)) void give_window(struct connection *c, struct tcp_sock *tp)
{
	struct narrows_window *w = &c->state.window;

	tp->snd_cwnd = narrows_min(w->cwnd >> 32, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = narrows_min(w->ssthresh >> 32, TCP_INFINITE_SSTHRESH);
}

static __attribute__((always_inline)) void give_rate(struct connection *c, struct tcp_sock *tp, struct sock *sk)
{
	u32 mss = tp->mss_cache & 0xffff;

	u64 rate;

	if (!tp->srtt_us || !mss)
		return;
	rate = narrows_pacing(c->state.window.cwnd, mss, tp->srtt_us, CORE_(pacing)(&c->state, &params));
	sk->sk_pacing_rate = narrows_min(rate, sk->sk_max_pacing_rate);
}

SEC("struct_ops")
void init(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct sock *sk = (void *)ctx[0];
	struct connection *c = bpf_sk_storage_get(&connections, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);

	near_init(tp);
	if (!c)
		return;
	CORE_(init)(&c->state, &params, tp->snd_cwnd);
	/* A threshold that the kernel remembers of another connection. */
	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		c->state.window.ssthresh = narrows_max((u64)tp->snd_ssthresh << 32, NARROWS_LEAST);
	/* The handshake. */
	if (tp->srtt_us)
		CORE_(remember)(&c->state, &params, tp->tcp_mstamp, tp->srtt_us >> 3);
	c->round_end = 0;
	c->initial_window = tp->snd_cwnd;
	c->delivered = tp->delivered;
	c->delivered_ce = tp->delivered_ce;
	c->ce_rcv_nxt = tp->rcv_nxt;
	c->ce = 0;
	c->new_timeout = 0;
	if (PACED && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	give_rate(c, tp, sk);
}

SEC("struct_ops")
void cong_control(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct sock *sk = (void *)ctx[0];
	const struct rate_sample *rs = (void *)ctx[3];
	struct connection *c = connection_of(tp);
	struct narrows_ack ack = {};

	if (!c)
		return;
	ack.acked = tp->delivered - c->delivered;
	ack.marked = tp->delivered_ce - c->delivered_ce;
	c->delivered = tp->delivered;
	c->delivered_ce = tp->delivered_ce;
	if (!ack.acked)
		return;
	take_window(c, tp);
	ack.now_us = tp->tcp_mstamp;
	ack.rtt_us = rs->rtt_us < 0 ? 0 : narrows_max(rs->rtt_us, 1);
	ack.srtt_us = tp->srtt_us >> 3;
	ack.in_recovery = bit_field((struct inet_connection_sock *)tp, icsk_ca_state) == TCP_CA_Recovery;
	ack.cwnd_limited = bit_field(tp, is_cwnd_limited) ||
			   (narrows_in_slow_start(&c->state.window) && tp->snd_cwnd < 2 * tp->max_packets_out);
	if (rs->prior_mstamp && (int)(rs->prior_delivered - c->round_end) >= 0) {
		ack.round_start = 1;
		c->round_end = tp->delivered;
	}
	CORE_(on_ack)(&c->state, &params, &ack);
	give_window(c, tp);
	give_rate(c, tp, sk);
}

SEC("struct_ops")
void set_state(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	u8 next = ctx[1], now = bit_field((struct inet_connection_sock *)tp, icsk_ca_state);
	struct connection *c = connection_of(tp);

	if (!c)
		return;
	if (next == TCP_CA_Recovery && now < TCP_CA_Recovery) {
		take_window(c, tp);
		CORE_(on_loss)(&c->state, tp->tcp_mstamp, tp->packets_out);
		give_window(c, tp);
	} else if (next == TCP_CA_Loss) {
		/* The kernel has set the window, so that ours is what it was before. */
		CORE_(on_timeout)(&c->state, tp->tcp_mstamp, tp->packets_out, !c->new_timeout);
		c->new_timeout = 0;
		give_window(c, tp);
	}
}

/* Acknowledges what was received with the state of marks that belongs to it (RFC 8257 3.2). */
static __attribute__((always_inline)) void echo(struct tcp_sock *tp, u8 ce)
{
	if (ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

static __attribute__((always_inline)) void on_packet(struct connection *c, struct tcp_sock *tp, u8 ce)
{
	if (c->ce != ce) {
		/* An acknowledgment that waits reports on packets before this one. */
		if (tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER) {
			echo(tp, c->ce);
			bpf_tcp_send_ack(tp, c->ce_rcv_nxt);
		}
		tp->inet_conn.icsk_ack.pending |= ICSK_ACK_NOW;
	}
	c->ce = ce;
	c->ce_rcv_nxt = tp->rcv_nxt;
	echo(tp, ce);
}

static __attribute__((always_inline)) void on_start(struct connection *c, struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;
	u32 idle = (u32)bpf_jiffies64() - tp->lsndtime, rto = tp->inet_conn.icsk_rto, window = 0;

	take_window(c, tp);
	/* As tcp_cwnd_restart: half for each timeout that has passed. */
	if (sk->__sk_common.skc_net.net->ipv4.sysctl_tcp_slow_start_after_idle && rto && idle > rto)
		window = narrows_max(tp->snd_cwnd >> narrows_min(idle / rto, 31), c->initial_window);
	CORE_(on_idle)(&c->state, window);
	give_window(c, tp);
}

SEC("struct_ops")
void cwnd_event(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	enum tcp_ca_event event = ctx[1];
	struct connection *c = connection_of(tp);

	if (!c)
		return;
	switch (event) {
	case CA_EVENT_TX_START:
		on_start(c, tp);
		break;
	case CA_EVENT_LOSS:
		c->new_timeout = 1;
		break;
	case CA_EVENT_ECN_NO_CE:
		on_packet(c, tp, 0);
		break;
	case CA_EVENT_ECN_IS_CE:
		on_packet(c, tp, 1);
		break;
	default:
		break;
	}
}

/* The kernel asks before it says why: set_state gives the threshold. */
SEC("struct_ops")
u32 ssthresh(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];

	return tp->snd_ssthresh;
}

SEC("struct_ops")
u32 undo_cwnd(u64 *ctx)
{
	struct tcp_sock *tp = (void *)ctx[0];
	struct connection *c = connection_of(tp);

	if (!c)
		return tp->snd_cwnd;
	take_window(c, tp);
	narrows_undo(&c->state.window);
	return c->state.window.cwnd >> 32;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops control = {
	.name = "narrows_" QUOTED(CONTROL),
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.init = (void *)init,
	.ssthresh = (void *)ssthresh,
	.set_state = (void *)set_state,
	.cwnd_event = (void *)cwnd_event,
	.in_ack_event = (void *)in_ack_event,
	.cong_control = (void *)cong_control,
	.undo_cwnd = (void *)undo_cwnd,
};
