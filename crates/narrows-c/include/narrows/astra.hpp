/*
 * ASTRA-sim's network interface on a network of Narrows.
 *
 * Written against the interface that ASTRA-sim published at commit 518bd51 (AstraNetworkAPI): the functions of `NetworkApi` below have the
 * names, the order of arguments and the meaning that are described there. It has not been compiled against ASTRA-sim itself; a front end
 * derives its class from both and forwards.
 *
 * A `Fabric` is one simulation with its ranks. A `Rank` is what the workload of one rank calls. Handlers run inside of `Fabric::run`, in
 * the order of narrows.h, and may call everything of their rank or others: send, receive, schedule, at once and again.
 *
 *     narrows::astra::Fabric fabric(scenario_text, "folder", seed, "traffic group", ranks);
 *     fabric.rank(0).sim_send(nullptr, bytes, 0, 1, tag, nullptr, handler, argument);
 *     fabric.run();
 *
 * C++11, no library besides libnarrows. All calls come from the thread that made the fabric.
 */
#ifndef NARROWS_ASTRA_HPP
#define NARROWS_ASTRA_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../narrows.h"

namespace narrows {

/* A call of narrows.h has failed. */
class Error : public std::runtime_error {
public:
    Error(nrw_status status, const std::string &text) : std::runtime_error(text), status_(status) {}
    nrw_status status() const { return status_; }

private:
    nrw_status status_;
};

inline void check(nrw_status status) {
    if (status == NRW_OK) {
        return;
    }
    nrw_error error;
    const bool known = nrw_last_error(&error) == NRW_OK && error.text != nullptr;
    throw Error(status, known ? error.text : "unknown error");
}

namespace astra {

enum class Unit { nanoseconds };

/* A length of time. */
struct TimeSpec {
    Unit unit;
    long double value;
};

/* Of a message. Nothing of it matters here. */
struct Request {
    std::uint64_t flow_tag;
};

using Handler = void (*)(void *);

/* The interface: an object for each rank. */
class NetworkApi {
public:
    virtual ~NetworkApi() = default;
    virtual int sim_send(void *buffer, std::uint64_t bytes, int type, int dst, int tag, Request *request, Handler handler,
                         void *argument) = 0;
    virtual int sim_recv(void *buffer, std::uint64_t bytes, int type, int src, int tag, Request *request, Handler handler,
                         void *argument) = 0;
    virtual void sim_schedule(TimeSpec delta, Handler handler, void *argument) = 0;
    virtual TimeSpec sim_get_time() = 0;
    virtual int sim_comm_get_rank() = 0;
    virtual int sim_comm_set_rank(int rank) = 0;
    virtual double get_BW_at_dimension(int dimension) = 0;
    virtual void sim_notify_finished() = 0;
};

/* When a receiver is notified. */
enum class Notify {
    at_last_byte, /* when the last byte has arrived */
    at_last_ack,  /* when the sender is: about half a round trip later, as ns-3 does */
};

class Fabric;

/* A rank of a fabric. */
class Rank : public NetworkApi {
public:
    Rank(Fabric &fabric, int rank) : fabric_(fabric), rank_(rank) {}
    int sim_send(void *, std::uint64_t bytes, int, int dst, int tag, Request *, Handler handler, void *argument) override;
    int sim_recv(void *, std::uint64_t bytes, int, int src, int tag, Request *, Handler handler, void *argument) override;
    void sim_schedule(TimeSpec delta, Handler handler, void *argument) override;
    TimeSpec sim_get_time() override;
    int sim_comm_get_rank() override { return rank_; }
    int sim_comm_set_rank(int rank) override { return rank_ = rank; }
    double get_BW_at_dimension(int dimension) override;
    void sim_notify_finished() override;

private:
    Fabric &fabric_;
    int rank_;
};

/* A simulation with its ranks. */
class Fabric {
public:
    /* Rank i is at host i of the scenario, unless `hosts` says where ranks are; several may be at one host. A negative seed leaves the
     * scenario its own. */
    Fabric(const std::string &scenario, const std::string &folder, std::int64_t seed, const std::string &traffic_class, int ranks,
           Notify notify = Notify::at_last_byte, std::vector<std::uint32_t> hosts = {})
        : notify_(notify), hosts_(std::move(hosts)) {
        check(nrw_open(scenario.data(), scenario.size(), folder.c_str(), seed, &network_));
        try {
            place(traffic_class, ranks);
        } catch (...) {
            nrw_close(network_);
            throw;
        }
    }
    ~Fabric() { nrw_close(network_); }
    Fabric(const Fabric &) = delete;
    Fabric &operator=(const Fabric &) = delete;

    Rank &rank(int number) { return *ranks_.at(static_cast<std::size_t>(number)); }
    int size() const { return static_cast<int>(ranks_.size()); }
    /* For calls of narrows.h. */
    std::uint64_t network() const { return network_; }
    bool stopped() const { return stopped_; }

    /* Goes on until all ranks have said that they are finished, nothing is left to happen, or the scenario ends. Time is where the last
     * thing has happened, unless it ends. Returns whether all ranks are finished. */
    bool run() {
        while (!stopped_ && pending_ > 0) {
            nrw_event event;
            check(nrw_next(network_, NRW_NEVER, &event));
            if (event.kind == NRW_NOTHING) {
                break;
            }
            take(event);
        }
        return stopped_;
    }

private:
    friend class Rank;

    struct Call {
        Handler handler;
        void *argument;
        void operator()() const {
            if (handler != nullptr) {
                handler(argument);
            }
        }
    };
    /* What a tag of narrows.h stands for: a message, or a timer. */
    struct Slot {
        Call call;
        int tag, src, dst;
        std::uint64_t bytes;
    };
    struct Waiting {
        std::uint64_t bytes;
        Call call;
    };
    /* Messages of one (tag, source, destination): bytes that have arrived for nobody yet, and those who wait. */
    struct Match {
        std::uint64_t arrived = 0;
        std::vector<Waiting> waiting;
        std::size_t served = 0; /* of those in `waiting` */

        bool empty() const { return served == waiting.size(); }
        const Waiting &front() const { return waiting[served]; }
        void pop() {
            if (++served == waiting.size() || served >= 64) {
                waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(served));
                served = 0;
            }
        }
    };
    struct Key {
        int tag, src, dst;
        bool operator==(const Key &other) const { return tag == other.tag && src == other.src && dst == other.dst; }
    };
    struct KeyHash {
        std::size_t operator()(const Key &key) const {
            std::uint64_t hash = static_cast<std::uint32_t>(key.tag);
            for (const int part : {key.src, key.dst}) {
                hash = hash * 0x9e3779b97f4a7c15u + static_cast<std::uint32_t>(part);
            }
            hash *= 0x9e3779b97f4a7c15u;
            return static_cast<std::size_t>(hash ^ hash >> 32);
        }
    };

    void place(const std::string &traffic_class, int ranks) {
        check(nrw_class(network_, traffic_class.c_str(), &class_));
        for (int number = 0; number < ranks; ++number) {
            if (hosts_.size() <= static_cast<std::size_t>(number)) {
                hosts_.push_back(static_cast<std::uint32_t>(number));
            }
            std::uint64_t rate;
            check(nrw_host_rate(network_, hosts_[static_cast<std::size_t>(number)], &rate));
            ranks_.emplace_back(new Rank(*this, number));
        }
    }

    std::uint64_t keep(const Slot &slot) {
        ++pending_;
        if (free_.empty()) {
            slots_.push_back(slot);
            return slots_.size() - 1;
        }
        const std::uint64_t number = free_.back();
        free_.pop_back();
        slots_[number] = slot;
        return number;
    }

    Slot forget(std::uint64_t number) {
        --pending_;
        free_.push_back(number);
        return slots_[number];
    }

    std::uint32_t host(int rank) const {
        if (rank < 0 || rank >= size()) {
            throw Error(NRW_UNKNOWN, "rank " + std::to_string(rank) + ", the fabric has " + std::to_string(size()));
        }
        return hosts_[static_cast<std::size_t>(rank)];
    }

    void send(int src, int dst, int tag, std::uint64_t bytes, Call call) {
        const std::uint32_t from = host(src), to = host(dst);
        const std::uint64_t slot = keep({call, tag, src, dst, bytes});
        /* Within a host nothing crosses the network: it is there at the same moment, after what happens now. */
        const nrw_status status = from == to ? nrw_schedule(network_, 0, slot * 2 + 1, nullptr)
                                             : nrw_send(network_, from, to, bytes, class_, slot * 2 + 1, 0, nullptr);
        if (status != NRW_OK) {
            forget(slot);
            check(status);
        }
    }

    void receive(int src, int dst, int tag, std::uint64_t bytes, Call call) {
        host(src);
        Match &match = matches_[Key{tag, src, dst}];
        if (match.empty() && match.arrived >= bytes) {
            match.arrived -= bytes;
            schedule(0, call); /* never inside of the call that receives */
        } else {
            match.waiting.push_back({bytes, call});
        }
    }

    void schedule(std::uint64_t delay_ps, Call call) {
        const std::uint64_t slot = keep({call, 0, 0, 0, 0});
        const nrw_status status = nrw_schedule(network_, delay_ps, slot * 2, nullptr);
        if (status != NRW_OK) {
            forget(slot);
            check(status);
        }
    }

    void take(const nrw_event &event) {
        const std::uint64_t number = event.tag / 2;
        const bool of_message = event.tag % 2 == 1;
        switch (event.kind) {
        case NRW_DELIVERED:
            if (notify_ == Notify::at_last_byte) {
                arrive(Slot(slots_[number]));
            }
            break;
        case NRW_SENT: {
            const Slot slot = forget(number);
            if (notify_ == Notify::at_last_ack) {
                arrive(slot);
            }
            slot.call();
            break;
        }
        case NRW_TIMER: {
            const Slot slot = forget(number);
            if (of_message) {
                arrive(slot);
            }
            slot.call();
            break;
        }
        case NRW_FAILED: {
            const Slot slot = forget(number);
            throw Error(NRW_REFUSED, "a message from rank " + std::to_string(slot.src) + " to rank " + std::to_string(slot.dst) +
                                         " was given up");
        }
        default:
            break;
        }
    }

    void arrive(const Slot &slot) {
        Match &match = matches_[Key{slot.tag, slot.src, slot.dst}];
        match.arrived += slot.bytes;
        /* A handler may receive again, which joins the end of the line. */
        while (!match.empty() && match.arrived >= match.front().bytes) {
            const Waiting first = match.front();
            match.pop();
            match.arrived -= first.bytes;
            first.call();
        }
    }

    std::uint64_t network_ = 0;
    std::uint32_t class_ = 0;
    Notify notify_;
    std::vector<std::uint32_t> hosts_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    std::vector<Slot> slots_;
    std::vector<std::uint64_t> free_;
    std::uint64_t pending_ = 0;
    std::unordered_map<Key, Match, KeyHash> matches_;
    int finished_ = 0;
    bool stopped_ = false;
};

inline int Rank::sim_send(void *, std::uint64_t bytes, int, int dst, int tag, Request *, Handler handler, void *argument) {
    fabric_.send(rank_, dst, tag, bytes, {handler, argument});
    return 0;
}

inline int Rank::sim_recv(void *, std::uint64_t bytes, int, int src, int tag, Request *, Handler handler, void *argument) {
    fabric_.receive(src, rank_, tag, bytes, {handler, argument});
    return 0;
}

inline void Rank::sim_schedule(TimeSpec delta, Handler handler, void *argument) {
    if (!(delta.value >= 0) || delta.value > 1e16L) {
        throw Error(NRW_BAD_TIME, "a delay of " + std::to_string(static_cast<double>(delta.value)) + " ns");
    }
    fabric_.schedule(static_cast<std::uint64_t>(std::llround(delta.value * 1000)), {handler, argument});
}

inline TimeSpec Rank::sim_get_time() {
    std::uint64_t now;
    check(nrw_now(fabric_.network(), &now));
    return {Unit::nanoseconds, static_cast<long double>(now) / 1000};
}

/* In GB/s: the rate of the rank's link. There is one dimension. */
inline double Rank::get_BW_at_dimension(int dimension) {
    if (dimension != 0) {
        return -1;
    }
    std::uint64_t rate;
    check(nrw_host_rate(fabric_.network(), fabric_.host(rank_), &rate));
    return static_cast<double>(rate) / 8e9;
}

inline void Rank::sim_notify_finished() {
    if (++fabric_.finished_ == fabric_.size()) {
        fabric_.stopped_ = true;
    }
}

} // namespace astra
} // namespace narrows

#endif
