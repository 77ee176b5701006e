/*
 * Observer: constant memory. Its cache serves one address at a time, so that a request takes as
 * many passes as its lanes have different addresses, and one at best. Kernels may not write there.
 */
#include "sim/observer.h"

typedef struct constants {
    int64_t passes, fewest;
} constants;

static gm_status check(void *state, gm_trace *trace, const gm_access *access)
{
    (void)state;
    if (trace->sites.list[access->site].kind != GM_LOAD) {
        return gm_find(GM_RULE_CONSTANT_STORE,
                       "a store to constant memory, which kernels may only read");
    }
    return GM_OK;
}

static gm_status count(void *state, gm_trace *trace, const gm_request *request, void *counters)
{
    constants *of_line = counters;
    (void)state;
    (void)trace;
    for (int i = 0; i < request->lanes; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++) {
            seen = request->address[j] == request->address[i];
        }
        of_line->passes += !seen;
    }
    of_line->fewest++;
    return GM_OK;
}

const gm_observer gm_observer_constants = {
    .name = "constants",
    .counter_bytes = sizeof(constants),
    .counters = {{"passes", offsetof(constants, passes)},
                 {"fewest_passes", offsetof(constants, fewest)}},
    .accesses = GM_SEES(GM_SPACE_CONSTANT),
    .requests = GM_SEES(GM_SPACE_CONSTANT),
    .access = check,
    .request = count,
    .by_shape = true,
};
