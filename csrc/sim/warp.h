/* A warp of the running block: its lanes in turn, and the operations at which they meet. */
#ifndef GPUMEM_SIM_WARP_H
#define GPUMEM_SIM_WARP_H

#include "sim/block.h"

/* Threads [first, past) of a block. */
typedef struct gm_warp {
    int first, past;
} gm_warp;

/* Runs all lanes from their start (`fresh`) or from the last barrier to the next. */
gm_status gm_warp_run(gm_block *block, gm_warp warp, bool fresh);

/* Lets lanes go on that wait for each other or on mbarriers, as far as they can now, and gives a
 * turn to those that gave way. */
gm_status gm_warp_run_waiting(gm_block *block, gm_warp warp);

#endif
