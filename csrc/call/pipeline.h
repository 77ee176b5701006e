/* Runs calls whose arrays need a transfer: to the device, through a kernel, and back. */
#ifndef GPUMEM_PIPELINE_H
#define GPUMEM_PIPELINE_H

#include "call/chunks.h"

/* If the pieces do not fit the variant, the call runs whole. */
gm_status gm_pipeline_run(gm_run *run, const gm_chunks *chunks);

#endif
