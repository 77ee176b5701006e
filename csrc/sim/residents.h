/*
 * Blocks in flight together on one host thread, as on a multiprocessor.
 *
 * A block whose threads spin may wait for a block that has yet to start, and blocks meet at
 * barriers of the grid. Another block is then begun on the same host thread, up to as many as a
 * device holds at once. __shared__ variables are copied out and in when blocks change.
 */
#ifndef GPUMEM_SIM_RESIDENTS_H
#define GPUMEM_SIM_RESIDENTS_H

#include "sim/block.h"
#include "sim/run.h"

/* The block has got stuck: runs it and others until all of them have ended. *failed is the number
 * of the block with the error. Afterwards `block` is the one that the host thread runs. */
gm_status gm_residents_run(gm_run *run, gm_block *block, int64_t *failed);

#endif
