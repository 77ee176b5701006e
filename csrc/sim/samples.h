/* The first requests of each source line as they were, for a picture. */
#ifndef GPUMEM_SIM_SAMPLES_H
#define GPUMEM_SIM_SAMPLES_H

#include "sim/sites.h"

enum { GM_SAMPLES = 32 }; /* kept per site */

typedef struct gm_sample {
    int64_t number; /* requests are numbered in the order of their warps */
    gm_dim block;
    int warp, lanes;
    uintptr_t base; /* start of the allocation; 0: of __shared__ variables, which have none */
    uintptr_t address[GM_WARP];
    uint32_t bytes[GM_WARP];
    uint8_t lane[GM_WARP];
} gm_sample;

/* The samples of a site, and how many they are. */
const gm_sample *gm_site_samples(const gm_site *site, int *count);

#endif
