/* Observer: how many requests warps make at each source line, and of how many lanes. */
#include "sim/observer.h"

typedef struct lanes {
    int64_t requests, lanes;
    int64_t uncertain; /* accesses whose requests a GPU may form otherwise, see requests.h */
} lanes;

static gm_status count(void *state, gm_trace *trace, const gm_request *request, void *counters)
{
    lanes *of_line = counters;
    (void)state;
    (void)trace;
    of_line->requests++;
    of_line->lanes += request->lanes;
    of_line->uncertain += request->uncertain ? request->lanes : 0;
    return GM_OK;
}

const gm_observer gm_observer_lanes = {
    .name = "lanes",
    .counter_bytes = sizeof(lanes),
    .counters = {GM_COUNTER(lanes, requests), GM_COUNTER(lanes, lanes),
                 GM_COUNTER(lanes, uncertain)},
    .requests = GM_SEES_REQUESTS,
    .request = count,
    .by_shape = true,
};
