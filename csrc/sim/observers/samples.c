/* Observer: keeps the first requests of each source line as they were, for a picture. */
#include "sim/samples.h"

#include <stdlib.h>
#include <string.h>

#include "sim/observer.h"

typedef struct samples {
    gm_sample *list;
    int count;
} samples;

/* Start of the memory that holds an address. */
static uintptr_t base_of(const gm_spaces *spaces, gm_space space, uintptr_t address)
{
    if (space == GM_SPACE_CONSTANT) {
        return spaces->module->constant.begin;
    }
    if (space == GM_SPACE_SHARED) {
        gm_region dynamic = spaces->block.shared_dynamic;
        return gm_region_holds(dynamic, address) ? dynamic.begin : 0;
    }
    for (int i = 0; i < spaces->global_count; i++) {
        if (gm_region_holds(spaces->global[i], address)) {
            return spaces->global[i].begin;
        }
    }
    return 0;
}

static gm_status keep(void *state, gm_trace *trace, const gm_request *request, void *counters)
{
    samples *of_site = counters;
    (void)state;
    if (of_site->count == GM_SAMPLES) {
        return GM_OK;
    }
    if (!of_site->list) {
        of_site->list = malloc(GM_SAMPLES * sizeof *of_site->list);
        if (!of_site->list) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for samples of requests");
        }
    }
    gm_sample *sample = &of_site->list[of_site->count++];
    sample->number = trace->request_number;
    sample->block = trace->block_index;
    sample->warp = trace->warp;
    sample->lanes = request->lanes;
    sample->base = base_of(&trace->spaces, request->site->space, request->address[0]);
    for (int i = 0; i < request->lanes; i++) {
        sample->address[i] = gm_reported_address(&trace->spaces, request->address[i]);
    }
    memcpy(sample->bytes, request->bytes, sizeof sample->bytes);
    memcpy(sample->lane, request->lane, sizeof sample->lane);
    return GM_OK;
}

static void free_samples(void *counters)
{
    samples *of_site = counters;
    free(of_site->list);
}

const gm_observer gm_observer_samples = {
    .name = "samples",
    .counter_bytes = sizeof(samples),
    .requests = GM_SEES_REQUESTS,
    .request = keep,
    .free_counters = free_samples,
};

const gm_sample *gm_site_samples(const gm_site *site, int *count)
{
    const samples *of_site = gm_observer_counters(&gm_observer_samples, site);
    *count = of_site->count;
    return of_site->list;
}
