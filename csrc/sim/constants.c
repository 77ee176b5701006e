/*
 * Observer: constant memory. Its cache serves one address at a time: a request takes as many passes
 * as its lanes have different addresses, and at best one. Nothing writes there.
 */
#include "sim/trace.h"

static gm_status constants_access(void *state, gm_trace *trace, const gm_access *access)
{
    (void)state;
    if (trace->sites[access->site].kind != GM_LOAD) {
        return gm_fail(GM_ERROR_SIMULATION, "a store to constant memory, which kernels only read");
    }
    return GM_OK;
}

static gm_status constants_request(void *state, gm_trace *trace, const gm_request *request)
{
    (void)state;
    (void)trace;
    if (request->site->space != GM_SPACE_CONSTANT) {
        return GM_OK;
    }
    for (int i = 0; i < request->lanes; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++) {
            seen = request->address[j] == request->address[i];
        }
        request->site->passes += !seen;
    }
    request->site->fewest++;
    return GM_OK;
}

const gm_observer gm_constants_observer = {
    .name = "constants",
    .accesses = GM_SEES(GM_SPACE_CONSTANT),
    .access = constants_access,
    .request = constants_request,
};
