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
#include "sim/preempt.h"
#include "sim/trace.h"
#include "sim/turns.h"

/* What a block waits for when it returns to the grid. */
typedef enum gm_standing {
    GM_BEGUN, /* nothing: no thread has run */
    GM_ENDED,
    GM_STUCK,   /* the threads that do not wait spin */
    GM_AT_GRID, /* all threads wait at a barrier of the grid */
} gm_standing;

typedef enum gm_phase {
    GM_STARTS,  /* no thread has run */
    GM_GOES_ON, /* all threads have passed a barrier */
    GM_MEETS,   /* threads that wait for each other, or spin, have their turns */
} gm_phase;

/* What a thread has given, and what those that are released with it get of it. */
typedef struct gm_handed {
    uint64_t deposit, exchanged;
} gm_handed;

typedef struct gm_handed_unset {
    gm_unset deposit, exchanged;
} gm_handed_unset;

/* Kept from one block to the next, and from one launch to the next: stacks are expensive. */
typedef struct gm_block {
    /* The module's gm_lane of the host thread that runs the block now. A fiber outlives a launch
     * and may wake up on another host thread: it must not keep the address of a thread-local
     * variable. */
    gm_lane_state *lane;
    const gm_grid *grid;
    gm_host_kernel kernel; /* the plain or the traced one of the grid's */
    gm_trace *trace;       /* NULL: at full speed */
    void *home;            /* context of the scheduler, while a fiber runs */
    gm_fiber_pool fibers;
    gm_fiber *running_fiber;
    gm_strand *strands; /* one per thread of the block */
    int threads;
    int running;                              /* number of the thread that runs now */
    int next_fresh, end_fresh;                /* threads of the warp that have yet to start */
    int done, at_warp, at_mbarrier, gave_way; /* at_warp: AT_PLACE, too */
    int at_grid;                              /* of those at a barrier, at one of the grid */
    bool votes;                               /* some threads wait at a barrier with a predicate */
    int voted; /* for how many it was not 0 at the last such barrier */
    gm_interrupt interrupt;
    int64_t barriers, warps; /* so far in this launch */
    char *dynamic_shared;
    /* What lanes give each other, by thread: several warps may wait for lanes at the same time. */
    gm_handed *handed;
    gm_handed_unset *handed_unset; /* traced: which of these are no values */
    /* Spins. */
    gm_turn *turn;    /* traced */
    uint64_t *states; /* at full speed, GM_STATES per thread; NULL until one spins */
    int64_t moves;    /* threads that went on, past a spin or a wait */
    int64_t actives;  /* turns in which a thread that spins did something new */
    gm_preempt *preempt;

    /* Among the blocks in flight. */
    int64_t number;
    gm_standing standing;
    gm_phase phase;
    int64_t grid_barriers; /* of the grid, when this block came to the last */
    gm_trace_block *traced;
    void *shared; /* its __shared__ variables while another block of the host thread runs */
    struct {
        const void *step; /* of the trace, at the last interruption */
        int patience;
        uintptr_t pc;
        int same; /* interruptions in a row without an access, in states that came before */
    } polls;
    bool polled;       /* interrupted, only to ask whether to stop */
    bool failed;       /* a thread has stopped in mid-kernel; the error record says why, or: */
    gm_fault fault;    /* the signal that stopped it */
    uint64_t roomless; /* hash of the registers when a signal last seemed to find no room */
} gm_block;

/* Gets the threads and the shared memory ready for the blocks of a grid. */
gm_status gm_block_prepare(gm_block *block, const gm_grid *grid);
void gm_block_free(gm_block *block);

/* Gets ready to run the block of this number. The host thread has entered (gm_thread_enter). */
gm_status gm_block_begin(gm_block *block, int64_t number);
/* Runs it until it has ended, or block->standing says what it waits for. */
gm_status gm_block_advance(gm_block *block);
/* All blocks have come to the barrier of the grid. */
gm_status gm_block_pass_grid(gm_block *block);
static inline gm_index gm_block_index(const gm_grid *grid, int64_t number)
{
    const gm_dim all = grid->grid;
    return (gm_index){(unsigned)(number % all.x), (unsigned)(number / all.x % all.y),
                      (unsigned)(number / all.x / all.y)};
}
/* Says that the block never ends, and why not. */
gm_status gm_block_fail_stuck(gm_block *block, const char *why);

#endif
