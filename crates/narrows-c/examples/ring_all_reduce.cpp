/*
 * A ring all-reduce on ASTRA-sim's network interface.
 *
 *     ring_all_reduce SCENARIO CLASS RANKS BYTES [ack]
 *
 * Each of RANKS ranks has BYTES. In 2(RANKS - 1) steps a rank sends a part to its right neighbor, when it has received the one before from
 * its left neighbor. Prints what it took until the last acknowledgment was back.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "narrows/astra.hpp"

namespace {

using narrows::astra::Fabric;
using narrows::astra::Notify;

struct Worker {
    narrows::astra::NetworkApi *api;
    int rank, ranks, steps;
    std::uint64_t bytes;
    int sent, done_sending, received;

    void begin() {
        receive();
        send();
    }

    void send() {
        ++sent;
        api->sim_send(nullptr, bytes, 0, (rank + 1) % ranks, 0, nullptr, on_sent, this);
    }

    void receive() {
        api->sim_recv(nullptr, bytes, 0, (rank + ranks - 1) % ranks, 0, nullptr, on_received, this);
    }

    /* Step s + 1 begins when step s has been received. That it has left is what counts for the link; the acknowledgment need not be back. */
    static void on_received(void *argument) {
        Worker &worker = *static_cast<Worker *>(argument);
        if (++worker.received < worker.steps) {
            worker.receive();
            worker.send();
        }
        worker.finish();
    }

    static void on_sent(void *argument) {
        Worker &worker = *static_cast<Worker *>(argument);
        ++worker.done_sending;
        worker.finish();
    }

    void finish() {
        if (received == steps && done_sending == steps) {
            api->sim_notify_finished();
        }
    }
};

} // namespace

int main(int count, char **values) {
    if (count < 5) {
        std::fprintf(stderr, "usage: %s SCENARIO CLASS RANKS BYTES [ack]\n", values[0]);
        return 2;
    }
    try {
        std::ifstream file(values[1]);
        std::stringstream scenario;
        scenario << file.rdbuf();
        const int ranks = std::atoi(values[3]);
        const std::uint64_t bytes = (std::strtoull(values[4], nullptr, 10) + ranks - 1) / ranks;
        const Notify notify = count > 5 ? Notify::at_last_ack : Notify::at_last_byte;
        Fabric fabric(scenario.str(), ".", -1, values[2], ranks, notify);
        std::vector<Worker> workers;
        for (int rank = 0; rank < ranks; ++rank) {
            workers.push_back({&fabric.rank(rank), rank, ranks, 2 * (ranks - 1), bytes, 0, 0, 0});
        }
        const auto begin = std::chrono::steady_clock::now();
        for (Worker &worker : workers) {
            worker.begin();
        }
        if (!fabric.run()) {
            std::fprintf(stderr, "the scenario ended before the ranks were finished\n");
            return 1;
        }
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
        /* Ranks are finished when their last acknowledgment is back. */
        nrw_totals_info totals;
        narrows::check(nrw_totals(fabric.network(), &totals));
        std::uint64_t now = 0;
        narrows::check(nrw_now(fabric.network(), &now));
        std::printf("ranks=%d messages=%llu message_bytes=%llu time_ps=%llu packet_hops=%llu wall_s=%.3f\n", ranks,
                    static_cast<unsigned long long>(totals.messages), static_cast<unsigned long long>(bytes),
                    static_cast<unsigned long long>(now), static_cast<unsigned long long>(totals.packet_hops), wall.count());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
