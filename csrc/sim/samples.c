/* Observer: keeps the first requests of each source line as they were, for a picture. */
#include <stdlib.h>
#include <string.h>

#include "sim/trace.h"

static uintptr_t allocation_of(const gm_trace *trace, uintptr_t address)
{
    for (int i = 0; i < trace->region_count; i++) {
        gm_region region = trace->regions[i];
        if (address >= region.begin && address < region.end) {
            return region.begin;
        }
    }
    return 0;
}

static gm_status samples_request(void *state, gm_trace *trace, const gm_request *request)
{
    gm_site *site = request->site;
    (void)state;
    if (site->sample_count == GM_SAMPLES) {
        return GM_OK;
    }
    if (!site->samples) {
        site->samples = malloc(GM_SAMPLES * sizeof *site->samples);
        if (!site->samples) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for samples of requests");
        }
    }
    gm_sample *sample = &site->samples[site->sample_count++];
    sample->number = trace->request_number;
    sample->block = trace->block_index;
    sample->warp = trace->warp;
    sample->lanes = request->lanes;
    memcpy(sample->address, request->address, sizeof sample->address);
    memcpy(sample->bytes, request->bytes, sizeof sample->bytes);
    memcpy(sample->lane, request->lane, sizeof sample->lane);
    if (site->space == GM_SPACE_GLOBAL) {
        sample->base = allocation_of(trace, request->address[0]);
    } else if (site->space == GM_SPACE_CONSTANT) {
        sample->base = trace->constant.begin;
    } else {
        uintptr_t dynamic = trace->shared_dynamic.end - trace->shared_dynamic.begin;
        bool is_dynamic = request->address[0] - trace->shared_dynamic.begin < dynamic;
        sample->base = is_dynamic ? trace->shared_dynamic.begin : 0;
    }
    return GM_OK;
}

const gm_observer gm_samples_observer = {.name = "samples", .request = samples_request};
