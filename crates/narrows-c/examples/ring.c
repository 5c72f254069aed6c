/*
 * A ring all-reduce on narrows.h alone.
 *
 *     ring SCENARIO CLASS RANKS BYTES
 *
 * Each of RANKS ranks has BYTES. In 2(RANKS - 1) steps a rank sends a part to its right neighbor, when it has received the one before from
 * its left neighbor. Prints what it took until the last acknowledgment was back.
 */
#define _POSIX_C_SOURCE 199309L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "narrows.h"

static void check(nrw_status status) {
    nrw_error error;
    if (status == NRW_OK) {
        return;
    }
    fprintf(stderr, "%s\n", nrw_last_error(&error) == NRW_OK ? error.text : "unknown error");
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static char *read_text(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 20);
    if (file == NULL || text == NULL) {
        perror(path);
        exit(1);
    }
    *length = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

int main(int count, char **values) {
    uint64_t network, bytes, left;
    uint32_t class_number, rank, ranks, steps, *received;
    size_t length;
    char *text;
    nrw_event event;
    nrw_totals_info totals;
    double begin;

    if (count != 5) {
        fprintf(stderr, "usage: %s SCENARIO CLASS RANKS BYTES\n", values[0]);
        return 2;
    }
    text = read_text(values[1], &length);
    check(nrw_open(text, length, ".", -1, &network));
    free(text);
    check(nrw_class(network, values[2], &class_number));
    ranks = (uint32_t)strtoul(values[3], NULL, 10);
    bytes = (strtoull(values[4], NULL, 10) + ranks - 1) / ranks;
    steps = 2 * (ranks - 1);
    received = calloc(ranks, sizeof *received);
    left = (uint64_t)steps * ranks;

    begin = seconds();
    /* The tag of a message is the rank that receives it. */
    for (rank = 0; rank < ranks; rank++) {
        const uint32_t right = (rank + 1) % ranks;
        check(nrw_send(network, rank, right, bytes, class_number, right, 0, NULL));
    }
    while (left > 0) {
        check(nrw_next(network, NRW_NEVER, &event));
        if (event.kind == NRW_DELIVERED) {
            rank = (uint32_t)event.tag;
            if (++received[rank] < steps) {
                const uint32_t right = (rank + 1) % ranks;
                check(nrw_send(network, rank, right, bytes, class_number, right, 0, NULL));
            }
        } else if (event.kind == NRW_SENT) {
            left--;
        } else {
            fprintf(stderr, "%s\n", event.kind == NRW_FAILED ? "a message was given up" : "the scenario ended before");
            return 1;
        }
    }
    check(nrw_totals(network, &totals));
    printf("ranks=%" PRIu32 " messages=%" PRIu64 " message_bytes=%" PRIu64 " time_ps=%" PRIu64 " packet_hops=%" PRIu64 " wall_s=%.3f\n",
           ranks, totals.messages, bytes, event.time_ps, totals.packet_hops, seconds() - begin);
    free(received);
    check(nrw_close(network));
    return 0;
}
