/*
 * Usual accesses to global memory, which observers take request by request.
 *
 * Observers are told of them when the warp's lanes meet, or before anything else that depends on
 * order. They then take what the warp has done as a whole, provided that nothing is amiss with any
 * of it. If something is, they take nothing, and are told access by access, lane by lane.
 */
#ifndef GPUMEM_SIM_BATCHES_H
#define GPUMEM_SIM_BATCHES_H

#include "sim/trace.h"

/* Did the observers take what the lanes of the present stream have done? */
bool gm_batch_take(gm_trace *trace, gm_status *status);

#endif
