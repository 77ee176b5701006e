/* A thread of the running block: starting, resuming, and stopping it with a fault. */
#ifndef GPUMEM_SIM_THREAD_H
#define GPUMEM_SIM_THREAD_H

#include <stdatomic.h>

#include "sim/block.h"
#include "sim/host_thread.h"
#include "sim/stream.h"

/* The block whose threads run on this host thread; NULL: none. */
extern GM_HIDDEN GM_THREAD_LOCAL gm_block *gm_thread_current;

/* The same for one host thread that traces, as it takes a call to find a thread-local variable of a
 * shared object. From claiming it to giving it up, that host thread alone uses it. */
typedef struct gm_thread_claim {
    _Atomic(uintptr_t) owner; /* gm_host_thread of the host thread; 0: nobody's */
    gm_block *block;
    gm_trace *trace;
} gm_thread_claim;

extern GM_HIDDEN gm_thread_claim gm_thread_claimed;

static inline bool gm_thread_has_claim(void)
{
    uintptr_t owner = atomic_load_explicit(&gm_thread_claimed.owner, memory_order_relaxed);
    return owner == gm_host_thread() && owner;
}

static inline gm_block *gm_thread_block(void)
{
    return gm_thread_has_claim() ? gm_thread_claimed.block : gm_thread_current;
}

/* The trace of a host thread with the claim; NULL: unknown. */
static inline gm_trace *gm_thread_claimed_trace(void)
{
    return gm_thread_has_claim() ? gm_thread_claimed.trace : NULL;
}

/* While a thread is looked at (turns.h), or has loaded what is not set, all its accesses are of
 * interest: those that repeat others go the long way too. */
static inline void gm_thread_take_long_way(const gm_block *block, bool on)
{
    if (gm_thread_has_claim()) {
        gm_thread_claimed.trace = on ? NULL : block->trace;
    }
}

/* What gm_thread_enter replaces on a host thread. */
typedef struct gm_thread_outer {
    gm_block *block;
    gm_lane_state *lane; /* the module's of the block that is entered */
    gm_lane_state state;
} gm_thread_outer;

/* Makes a block the one that this host thread runs, until gm_thread_leave. */
gm_thread_outer gm_thread_enter(gm_block *block);
void gm_thread_leave(const gm_thread_outer *outer);

/* A thread has stopped in mid-kernel: because of an error, or to poll; it then goes on. */
gm_status gm_thread_stopped(gm_block *block);

/* Changes over to another block in flight on this host thread, between two of their threads. */
gm_status gm_thread_select(gm_block *from, gm_block *to);

/* For the handler of a timer's signal: is this code of the running thread that can be interrupted,
 * on a stack with room for that; and if so, do that. */
bool gm_thread_may_stop(const gm_block *block, uintptr_t pc);
void gm_thread_interrupt(gm_block *block, uint64_t state, uintptr_t pc, uintptr_t sp);

/* What a fiber does: runs fresh threads of the warp, one after another. */
void gm_thread_run_fresh(gm_fiber *fiber, void *argument);

/*
 * Inline, as a processor predicts returns by the calls before them: each function that returns
 * after a switch of stacks costs a wrong prediction, and there are two switches per thread and
 * barrier.
 */
static inline gm_status gm_thread_enter_fiber(gm_block *block, gm_fiber *fiber)
{
    block->running_fiber = fiber;
    gm_fiber_switch(&block->home, fiber->context);
    return (block->failed | block->polled) ? gm_thread_stopped(block) : GM_OK;
}

/* Starts the warp's fresh threads, one after another, until one waits or all have run. */
static inline gm_status gm_thread_start(gm_block *block)
{
    gm_fiber *fiber = gm_fiber_take(&block->fibers, gm_thread_run_fresh, block);
    if (!fiber) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the stacks of a block");
    }
    return gm_thread_enter_fiber(block, fiber);
}

/* A thread that gave way has its turn. */
static inline void gm_thread_begin_turn(gm_block *block, int thread)
{
    block->gave_way--;
    if (block->turn) {
        gm_thread_take_long_way(block, true);
        gm_turn_begin(block->turn, thread);
    }
}

/* This thread is the next that runs. */
static inline void gm_thread_begins(gm_block *block, int thread)
{
    block->running = thread;
    block->lane->thread_index = block->strands[thread].index;
    if (block->trace) {
        gm_stream_pause(block->trace->stream);
        block->trace->aside = (gm_region){0, 0}; /* its local variables are elsewhere */
    }
}

/* Lets a waiting thread go on until it waits again or ends. */
static inline gm_status gm_thread_resume(gm_block *block, int thread)
{
    gm_strand *strand = &block->strands[thread];
    strand->state = RUNNING;
    gm_thread_begins(block, thread);
    return gm_thread_enter_fiber(block, strand->fiber);
}

/* The running thread of a traced kernel repeats a step, which interests somebody. */
void gm_thread_repeated(gm_step *step, uintptr_t address);

/* memcpy takes no source that overlaps with what it writes. */
void gm_thread_check_overlap(const void *code, uintptr_t to, uintptr_t from, size_t bytes);

/* The running thread frees memory of the heap: nobody may use it any more. */
void gm_thread_freed(gm_block *block, const void *code, gm_region region);

/* All lanes of a warp wait or have ended: the trace, which there is, takes note. */
gm_status gm_thread_flush(gm_block *block, int warp);

#endif
