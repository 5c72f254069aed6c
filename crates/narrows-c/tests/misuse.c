/* Every misuse that can be made without breaking C itself is an error code, and leaves the library as it was. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narrows.h"

#define EXPECT(call, status)                                                                                           \
    do {                                                                                                               \
        nrw_status found = (call);                                                                                     \
        if (found != (status)) {                                                                                       \
            nrw_error error;                                                                                           \
            nrw_last_error(&error);                                                                                    \
            printf("line %d: %s is %d, expected %d: %s\n", __LINE__, #call, (int)found, (int)(status), error.text);   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define TRUE(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s\n", __LINE__, #condition);                                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static const char SCENARIO[] = "version = 2\nname = 'two'\nhosts = 'ideal'\nstop = { after = '1 s' }\n"
                               "topology.star = { hosts = 3, rate = '100 Gb/s', delay = '500 ns' }\n"
                               "switches.default.buffer.size = '1 MB'\n"
                               "[[traffic]]\nname = 'ranks'\npattern = { attached = {} }\nrdma = {}\ncc = { dcqcn = {} }\n";

static uint64_t opened(void) {
    uint64_t network;
    EXPECT(nrw_open(SCENARIO, strlen(SCENARIO), NULL, 1, &network), NRW_OK);
    return network;
}

static void *from_another_thread(void *argument) {
    uint64_t network = *(uint64_t *)argument, now;
    EXPECT(nrw_now(network, &now), NRW_WRONG_THREAD);
    EXPECT(nrw_close(network), NRW_WRONG_THREAD);
    /* A network of its own, which goes with the thread. */
    uint64_t own = opened();
    EXPECT(nrw_send(own, 0, 1, 1000, 0, 0, 0, NULL), NRW_OK);
    *(uint64_t *)argument = own;
    return NULL;
}

static void documents(void) {
    uint64_t network = 7;
    nrw_error error;
    EXPECT(nrw_open(NULL, 5, NULL, 1, &network), NRW_BAD_ARGUMENT);
    TRUE(network == 0);
    EXPECT(nrw_open(SCENARIO, strlen(SCENARIO), NULL, 1, NULL), NRW_BAD_ARGUMENT);
    EXPECT(nrw_open(SCENARIO, SIZE_MAX, NULL, 1, &network), NRW_BAD_ARGUMENT);
    EXPECT(nrw_open("\xff\xfe", 2, NULL, 1, &network), NRW_BAD_TEXT);
    EXPECT(nrw_open(SCENARIO, strlen(SCENARIO), "\xff", 1, &network), NRW_BAD_TEXT);
    EXPECT(nrw_open("version = 2\nnaem = 3\n", 21, NULL, 1, &network), NRW_BAD_SCENARIO);
    EXPECT(nrw_last_error(&error), NRW_OK);
    TRUE(error.status == NRW_BAD_SCENARIO && error.line == 2 && error.column == 1);
    TRUE(strstr(error.text, "naem") != NULL);
    EXPECT(nrw_last_error(NULL), NRW_BAD_ARGUMENT);
}

static void handles(void) {
    uint64_t a = opened(), b = opened(), message, timer, now;
    uint32_t canceled;
    nrw_message_info info;
    EXPECT(nrw_send(a, 0, 1, 1000, 0, 5, 0, &message), NRW_OK);
    EXPECT(nrw_schedule(a, 5000, 6, &timer), NRW_OK);
    EXPECT(nrw_message(b, message, &info), NRW_BAD_HANDLE);
    EXPECT(nrw_message(a, timer, &info), NRW_BAD_HANDLE);
    EXPECT(nrw_message(a, message + 1, &info), NRW_BAD_HANDLE);
    EXPECT(nrw_message(a, message, NULL), NRW_BAD_ARGUMENT);
    EXPECT(nrw_message(a, message, &info), NRW_OK);
    TRUE(info.bytes == 1000 && info.tag == 5 && info.delivered_ps == NRW_NEVER);
    EXPECT(nrw_cancel(b, timer, &canceled), NRW_BAD_HANDLE);
    EXPECT(nrw_cancel(a, message, &canceled), NRW_BAD_HANDLE);
    EXPECT(nrw_cancel(a, timer, &canceled), NRW_OK);
    TRUE(canceled == 1);
    EXPECT(nrw_cancel(a, timer, &canceled), NRW_OK);
    TRUE(canceled == 0);
    EXPECT(nrw_close(a), NRW_OK);
    EXPECT(nrw_close(a), NRW_BAD_HANDLE);
    EXPECT(nrw_now(a, &now), NRW_BAD_HANDLE);
    /* Its place is taken again; the old handle stays stale. */
    uint64_t c = opened();
    TRUE(c != a);
    EXPECT(nrw_now(a, &now), NRW_BAD_HANDLE);
    EXPECT(nrw_message(c, message, &info), NRW_BAD_HANDLE);
    EXPECT(nrw_now(0, &now), NRW_BAD_HANDLE);
    EXPECT(nrw_now(UINT64_MAX, &now), NRW_BAD_HANDLE);
    EXPECT(nrw_now(c + 1, &now), NRW_BAD_HANDLE);
    pthread_t thread;
    uint64_t shared = c;
    TRUE(pthread_create(&thread, NULL, from_another_thread, &shared) == 0);
    pthread_join(thread, NULL);
    EXPECT(nrw_now(shared, &now), NRW_WRONG_THREAD);
    EXPECT(nrw_close(c), NRW_OK);
    EXPECT(nrw_close(b), NRW_OK);
}

static void calls(void) {
    uint64_t network = opened(), now, end;
    uint32_t number;
    char name[4];
    size_t length;
    nrw_event event;
    nrw_port_info port;
    EXPECT(nrw_host(network, "host1", &number), NRW_OK);
    TRUE(number == 1);
    EXPECT(nrw_host(network, "nobody", &number), NRW_UNKNOWN);
    EXPECT(nrw_host(network, NULL, &number), NRW_BAD_ARGUMENT);
    EXPECT(nrw_host(network, "\xc3", &number), NRW_BAD_TEXT);
    EXPECT(nrw_host_name(network, 1, name, sizeof name, &length), NRW_OK);
    TRUE(strcmp(name, "hos") == 0 && length == 5);
    EXPECT(nrw_host_name(network, 1, NULL, 0, NULL), NRW_OK);
    EXPECT(nrw_host_name(network, 3, name, sizeof name, NULL), NRW_UNKNOWN);
    EXPECT(nrw_class(network, "rank", &number), NRW_UNKNOWN);
    EXPECT(nrw_send(network, 0, 3, 1, 0, 0, 0, NULL), NRW_UNKNOWN);
    EXPECT(nrw_send(network, 0, 1, 1, 1, 0, 0, NULL), NRW_UNKNOWN);
    EXPECT(nrw_send(network, 1, 1, 1, 0, 0, 0, NULL), NRW_REFUSED);
    EXPECT(nrw_send(network, 0, 1, UINT64_MAX, 0, 0, 0, NULL), NRW_REFUSED);
    EXPECT(nrw_send(network, 0, 1, 1, 0, 0, UINT64_MAX, NULL), NRW_BAD_TIME);
    EXPECT(nrw_schedule(network, UINT64_MAX, 0, NULL), NRW_BAD_TIME);
    EXPECT(nrw_port(network, 0, &port), NRW_BAD_STATE);
    EXPECT(nrw_write(network, "nowhere", 0), NRW_BAD_STATE);
    EXPECT(nrw_send(network, 0, 1, 0, 0, 9, 0, NULL), NRW_OK);
    EXPECT(nrw_next(network, NRW_NEVER, NULL), NRW_BAD_ARGUMENT);
    EXPECT(nrw_next(network, NRW_NEVER, &event), NRW_OK);
    TRUE(event.kind == NRW_DELIVERED && event.tag == 9);
    EXPECT(nrw_now(network, &now), NRW_OK);
    TRUE(now == event.time_ps);
    EXPECT(nrw_advance(network, now - 1), NRW_BAD_TIME);
    EXPECT(nrw_end(network, &end), NRW_OK);
    EXPECT(nrw_next(network, NRW_NEVER, &event), NRW_OK);
    TRUE(event.kind == NRW_SENT);
    EXPECT(nrw_next(network, NRW_NEVER, &event), NRW_OK);
    TRUE(event.kind == NRW_NOTHING && event.time_ps == end);
    EXPECT(nrw_finish(network), NRW_OK);
    EXPECT(nrw_finish(network), NRW_BAD_STATE);
    EXPECT(nrw_now(network, &now), NRW_BAD_STATE);
    EXPECT(nrw_link(network, "host0", "host1", &number), NRW_UNKNOWN);
    EXPECT(nrw_link(network, "host0", "switch", &number), NRW_OK);
    EXPECT(nrw_port(network, number, &port), NRW_OK);
    TRUE(port.packets == 1 && port.drops == 0);
    EXPECT(nrw_port(network, 1000, &port), NRW_UNKNOWN);
    EXPECT(nrw_write(network, "/dev/null/x", 0), NRW_OUTPUT);
    EXPECT(nrw_close(network), NRW_OK);
}

int main(void) {
    TRUE(nrw_abi() == NRW_ABI && strlen(nrw_version()) > 0);
    documents();
    handles();
    calls();
    return 0;
}
