/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * The part of the running kernel that our programs touch. Fields are found by name when a program is loaded (CO-RE), so types
 * list those alone that are used, in any order.
 */
#ifndef NARROWS_KERNEL_H
#define NARROWS_KERNEL_H

#include "fixed.h"

#define SEC(name) __attribute__((section(name), used))
#define CORE __attribute__((preserve_access_index))

#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define BPF_F_CURRENT_NETNS (-1)

/* Helpers of include/uapi/linux/bpf.h. */
static u32 (*bpf_get_prandom_u32)(void) = (void *)7;
static long (*bpf_skb_load_bytes)(const void *skb, u32 offset, void *to, u32 len) = (void *)26;
static long (*bpf_setsockopt)(void *sk, int level, int name, void *value, int len) = (void *)49;
static void *(*bpf_sk_lookup_tcp)(void *skb, void *tuple, u32 size, u64 netns, u64 flags) = (void *)84;
static long (*bpf_sk_release)(void *sk) = (void *)86;
static void *(*bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static long (*bpf_tcp_send_ack)(void *tp, u32 rcv_nxt) = (void *)116;
static u64 (*bpf_jiffies64)(void) = (void *)118;

struct netns_ipv4 {
	u8 sysctl_tcp_slow_start_after_idle;
} CORE;

struct net {
	struct netns_ipv4 ipv4;
} CORE;

typedef struct {
	struct net *net;
} CORE possible_net_t;

struct sock_common {
	possible_net_t skc_net;
} CORE;

enum {
	SK_PACING_NONE,
	SK_PACING_NEEDED,
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;	/* bytes per second */
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
} CORE;

struct inet_sock {
	struct sock sk;
} CORE;

/* icsk_ack.pending */
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16

/* Types without a name in the kernel have none here. */
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u32 icsk_rto;	/* jiffies */
	u8 icsk_ca_state : 5;
	struct {
		u8 pending;
	} icsk_ack;
} CORE;

/* icsk_ca_state */
enum {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};

#define TCP_INFINITE_SSTHRESH 0x7fffffff

/* ecn_flags */
#define TCP_ECN_DEMAND_CWR 4

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;		/* microseconds */
	u64 bytes_sent;		/* payload */
	u32 rcv_nxt;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 snd_nxt;
	u32 write_seq;
	u32 packets_out;
	u32 max_packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 data_segs_out;
	u32 app_limited;
	u32 mss_cache;
	u32 srtt_us;		/* eighths of a microsecond */
	u32 lsndtime;		/* jiffies */
	u32 delivered;
	u32 delivered_ce;
	u8 ecn_flags;
	u8 is_cwnd_limited : 1;
} CORE;

struct rate_sample {
	u64 prior_mstamp;	/* 0 if nothing was delivered */
	u32 prior_delivered;
	long rtt_us;		/* of what was sent last of it; negative if there is none */
} CORE;

struct ack_sample {
	u32 pkts_acked;
} CORE;

/* cwnd_event */
enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2

/* Name and flags come first: whoever loads the control writes them. */
struct tcp_congestion_ops {
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
};

/* Of include/uapi/linux/bpf.h; programs see it as it is written here. */
struct __sk_buff {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;		/* in the order of the network */
};

struct bpf_sock_tuple {
	u32 saddr;
	u32 daddr;
	unsigned short sport;
	unsigned short dport;
};

/* A bit-field of the kernel, which has another place there. */
#define bit_field(structure, field)                                                                                    \
	({                                                                                                             \
		const void *at = (const void *)(structure) + __builtin_preserve_field_info((structure)->field, 0);     \
		u64 bits = 0;                                                                                          \
		switch (__builtin_preserve_field_info((structure)->field, 1)) {                                        \
		case 1:                                                                                                \
			bits = *(const u8 *)at;                                                                        \
			break;                                                                                         \
		case 2:                                                                                                \
			bits = *(const unsigned short *)at;                                                            \
			break;                                                                                         \
		case 4:                                                                                                \
			bits = *(const u32 *)at;                                                                       \
			break;                                                                                         \
		case 8:                                                                                                \
			bits = *(const u64 *)at;                                                                       \
			break;                                                                                         \
		}                                                                                                      \
		(bits << __builtin_preserve_field_info((structure)->field, 4)) >>                                      \
			__builtin_preserve_field_info((structure)->field, 5);                                          \
	})

#endif
