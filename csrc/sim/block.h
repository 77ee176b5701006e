/*
 * A block of threads on one host thread.
 *
 * Each warp runs from its start, or its last barrier, to the next barrier. A fiber runs one thread
 * after another until a thread has to wait. The fiber then belongs to the waiting thread, and
 * another fiber takes over. So a kernel without barriers needs a single fiber, and one with
 * barriers as many as its block has threads.
 */
#ifndef GPUMEM_SIM_BLOCK_H
#define GPUMEM_SIM_BLOCK_H

#include "sim/barriers.h"
#include "sim/faults.h"
#include "sim/fiber.h"
#include "sim/grid.h"
#include "sim/interrupt.h"
#include "sim/lane.h"

/* Kept from one block to the next, and from one launch to the next: stacks are expensive. */
typedef struct gm_block {
    /* The module's gm_lane of the host thread that runs the block now. A fiber outlives a launch and may wake
     * up on another host thread: it must not keep the address of a thread-local variable. */
    gm_lane_state *lane;
    const gm_grid *grid;
    gm_host_kernel kernel; /* the plain or the traced one of the grid's */
    gm_trace *trace;       /* NULL: at full speed */
    void *home;            /* context of the scheduler, while a fiber runs */
    gm_fiber_pool fibers;
    gm_fiber *running_fiber;
    gm_strand *strands; /* one per thread of the block */
    int threads;
    int running;                    /* number of the thread that runs now */
    int next_fresh, end_fresh;      /* threads of the warp that have yet to start */
    int done, at_warp, at_mbarrier; /* at_warp: AT_PLACE, too */
    bool votes;                     /* some threads wait at a barrier with a predicate */
    int voted;                      /* for how many it was not 0 at the last such barrier */
    gm_interrupt interrupt;
    int64_t barriers, warps; /* so far in this launch */
    char *dynamic_shared;
    uint64_t deposit[GM_WARP], exchanged[GM_WARP];
    bool failed;    /* a thread has stopped in mid-kernel; the error record says why, or: */
    gm_fault fault; /* the signal that stopped it */
} gm_block;

/* Gets the threads and the shared memory ready for the blocks of a grid. */
gm_status gm_block_prepare(gm_block *block, const gm_grid *grid);
void gm_block_free(gm_block *block);

/* Runs the block of this number. The host thread has entered (gm_thread_enter). */
gm_status gm_block_run(gm_block *block, int64_t number);

#endif
