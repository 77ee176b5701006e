/*
 * Observer: the bytes that each request asks for, and the 32-byte sectors and 128-byte lines that
 * a request to global memory touches. Bytes that several lanes ask for count once.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/observer.h"

typedef struct sectors {
    int64_t bytes, sectors, lines;
} sectors;

static int compare(const void *a, const void *b)
{
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return (left > right) - (left < right);
}

/* How many aligned pieces of `piece` bytes, a power of two, the request touches; its addresses
 * ascend. */
static int64_t count_ascending(const gm_request *request, uintptr_t piece)
{
    const int shift = __builtin_ctzll(piece);
    int64_t touched = 0;
    uintptr_t next = 0; /* first piece not yet counted */
    for (int i = 0; i < request->lanes; i++) {
        uintptr_t first = request->address[i] >> shift;
        uintptr_t last = (request->address[i] + request->bytes[i] - 1) >> shift;
        first = first < next ? next : first;
        if (last >= first) {
            touched += (int64_t)(last - first + 1);
            next = last + 1;
        }
    }
    return touched;
}

static gm_status count(void *state, gm_trace *trace, const gm_request *request, void *counters)
{
    sectors *of_line = counters;
    (void)state;
    (void)trace;
    bool global = request->site->space == GM_SPACE_GLOBAL;
    uintptr_t last = request->end - 1;
    if (request->gapless) {
        of_line->bytes += (int64_t)(request->end - request->begin);
        if (global) {
            of_line->sectors += (int64_t)(last / GM_SECTOR - request->begin / GM_SECTOR + 1);
            of_line->lines += (int64_t)(last / GM_LINE - request->begin / GM_LINE + 1);
        }
        return GM_OK;
    }
    gm_request sorted;
    uintptr_t address[GM_WARP];
    for (int i = 1; i < request->lanes; i++) {
        if (request->address[i] < request->address[i - 1]) {
            /* All lanes of a request have the same width, so addresses alone can be sorted. */
            sorted = *request;
            sorted.address = address;
            memcpy(address, request->address, (size_t)sorted.lanes * sizeof *address);
            qsort(address, (size_t)sorted.lanes, sizeof *address, compare);
            request = &sorted;
            break;
        }
    }
    of_line->bytes += count_ascending(request, 1);
    if (global) {
        of_line->sectors += count_ascending(request, GM_SECTOR);
        of_line->lines += count_ascending(request, GM_LINE);
    }
    return GM_OK;
}

const gm_observer gm_observer_sectors = {
    .name = "sectors",
    .counter_bytes = sizeof(sectors),
    .counters = {GM_COUNTER(sectors, bytes), GM_COUNTER(sectors, sectors),
                 GM_COUNTER(sectors, lines)},
    .requests = GM_SEES_REQUESTS,
    .request = count,
    .by_shape = true,
};
