/*
 * Threads of a block: how fibers run them, and what a running thread calls in the simulator.
 *
 * The scheduler runs on the host thread's own stack; a thread runs on a fiber until it waits,
 * ends or fails.
 */
#define _GNU_SOURCE
#include "sim/thread.h"
#include "sim/locate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/caller.h"
#include "sim/hooks.h"
#include "sim/trace.h"

GM_THREAD_LOCAL gm_lane_state gm_lane;
GM_THREAD_LOCAL gm_block *gm_thread_current;
gm_thread_claim gm_thread_claimed;

/* Makes a block, or none, the one that this host thread runs. */
static void set_current(gm_block *block)
{
    gm_thread_claim *claim = &gm_thread_claimed;
    uintptr_t me = gm_host_thread(), nobody = 0;
    gm_thread_current = block;
    gm_faults_watch(block);
    if (block && block->trace) {
        atomic_compare_exchange_strong(&claim->owner, &nobody, me);
    }
    if (gm_thread_has_claim()) {
        claim->block = block;
        claim->trace = block ? block->trace : NULL;
        atomic_store(&claim->owner, block ? me : 0);
    }
}

gm_thread_outer gm_thread_enter(gm_block *block)
{
    const gm_grid *grid = block->grid;
    gm_lane_state *lane = grid->module->lane();
    gm_thread_outer outer = {gm_thread_current, lane, *lane};
    set_current(block);
    block->lane = lane;
    lane->block_dim = (gm_index){grid->block.x, grid->block.y, grid->block.z};
    lane->grid_dim = (gm_index){grid->grid.x, grid->grid.y, grid->grid.z};
    lane->dynamic_shared = block->dynamic_shared;
    return outer;
}

void gm_thread_leave(const gm_thread_outer *outer)
{
    set_current(outer->block);
    *outer->lane = outer->state;
}

gm_status gm_thread_select(gm_block *from, gm_block *to)
{
    const gm_module *module = to->grid->module;
    if (from == to) {
        return GM_OK;
    }
    if (!from->shared && !(from->shared = malloc(module->shared_bytes + 1))) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the shared memory of a block");
    }
    /* The indices, and in the simulator's own image the block of this host thread, lie among the
     * variables of the blocks. */
    gm_lane_state lane = *from->lane;
    void *variables = (void *)module->shared_begin();
    memcpy(from->shared, variables, module->shared_bytes);
    if (to->shared) {
        memcpy(variables, to->shared, module->shared_bytes);
    }
    lane.dynamic_shared = to->dynamic_shared;
    lane.block_index = gm_block_index(to->grid, to->number);
    to->lane = from->lane;
    *to->lane = lane;
    set_current(to);
    if (to->traced) {
        gm_trace_block_select(to->trace, to->traced);
    }
    return GM_OK;
}

/* ---- faults ------------------------------------------------------------------------------- */

gm_status gm_thread_flush(gm_block *block, int warp)
{
    return gm_locate_traced(block, gm_trace_flush(block->trace, warp));
}

gm_status gm_thread_stopped(gm_block *block)
{
    enum { POLLS = 100 }; /* of a thread that stays in the states in which it was: for a second */
    while (block->polled && !block->failed) {
        gm_status status = gm_interrupt_check(&block->interrupt);
        if (status == GM_OK && block->polls.same == POLLS) {
            gm_status earlier = gm_postponed_tell(block->trace);
            if (earlier != GM_OK) {
                return gm_locate_traced(block, earlier);
            }
            const gm_site_record *at = gm_locate_line(block, block->polls.pc);
            gm_find(GM_RULE_ENDLESS, "a loop that never ends, without any access to memory");
            status = gm_locate_here(block, at ? at->file : NULL, at ? at->line : 0);
        }
        if (status != GM_OK) {
            return status;
        }
        block->polled = false;
        gm_fiber_switch(&block->home, block->running_fiber->context);
    }
    return block->failed ? gm_locate_failure(block) : GM_OK;
}

/* Leaves the kernel for good. Kernels own nothing, so that their fibers can simply be dropped. */
static _Noreturn void abandon(gm_block *block)
{
    block->failed = true;
    gm_fiber_switch(&block->running_fiber->context, block->home);
    __builtin_unreachable();
}

static void stop_if_failed(gm_block *block, gm_status status)
{
    if (status != GM_OK && gm_locate_traced(block, status) != GM_OK) {
        abandon(block);
    }
}

void gm_sim_fault_of(gm_rule rule, const char *file, int line, const char *what)
{
    gm_block *block = gm_thread_block();
    if (block->trace) {
        stop_if_failed(block, gm_trace_uses_all(block->trace));
        stop_if_failed(block, gm_postponed_tell(block->trace));
    }
    gm_find(rule, "%s", what);
    gm_locate_here(block, file, line);
    abandon(block);
}

void gm_sim_fault(const char *file, int line, const char *what)
{
    gm_sim_fault_of(GM_RULE_MISUSE, file, line, what);
}

/* ---- running ------------------------------------------------------------------------------ */

void gm_thread_run_fresh(gm_fiber *fiber, void *argument)
{
    gm_block *block = argument;
    for (;;) {
        while (block->next_fresh < block->end_fresh) {
            int thread = block->next_fresh++;
            gm_strand *strand = &block->strands[thread];
            strand->fiber = fiber;
            gm_thread_begins(block, thread);
            block->kernel(block->grid->args, block->lane);
            block->strands[block->running].state = DONE;
            block->done++;
            if (block->interrupt.slow) {
                break;
            }
        }
        gm_fiber_give(&block->fibers, fiber);
        gm_fiber_switch(&fiber->context, block->home);
    }
}

/* ---- waiting: called on the thread's fiber -------------------------------------------------- */

/* Returns when the scheduler resumes the thread. */
static void wait_as(gm_block *block, gm_strand_state state, const char *file, int line)
{
    gm_strand *strand = &block->strands[block->running];
    if (block->trace) {
        stop_if_failed(block, gm_trace_uses_all(block->trace));
    }
    strand->state = state;
    strand->file = file;
    strand->line = line;
    gm_fiber_switch(&strand->fiber->context, block->home);
}

/* Others have their turn. */
static void give_way(gm_block *block, bool idle, const char *file, int line)
{
    block->gave_way++;
    block->actives += !idle;
    wait_as(block, GAVE_WAY, file, line);
}

static bool seen_before(gm_block *block, uint64_t registers, uintptr_t sp)
{
    if (!block->states) {
        block->states = calloc((size_t)block->threads * GM_STATES, sizeof *block->states);
    }
    const gm_fiber *fiber = block->running_fiber;
    uintptr_t top = (uintptr_t)fiber->stack + fiber->stack_bytes;
    uint64_t state = gm_turn_hash(registers, (const void *)sp, top - sp);
    return block->states && gm_turn_seen(block->states + (size_t)block->running * GM_STATES, state);
}

/* `code` is where the thread called the simulator from. */
static bool called_before(gm_block *block, const void *code)
{
    gm_caller caller = gm_caller_of(code);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return seen_before(block, caller.registers, caller.sp ? caller.sp : here);
}

static void give_way_traced(gm_block *block, const void *code, const char *file, int line)
{
    gm_strand *strand = &block->strands[block->running];
    bool again = called_before(block, code);
    gm_thread_take_long_way(block, false);
    give_way(block, gm_turn_end(block->turn, block->running, again, &strand->trail), file, line);
}

bool gm_thread_may_stop(const gm_block *block, uintptr_t pc)
{
    enum { ROOM = 4096 }; /* for what a handler that stops it calls */
    const gm_fiber *fiber = block->running_fiber;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return gm_region_holds(block->grid->module->image, pc) && fiber &&
           here - (uintptr_t)fiber->stack - ROOM < fiber->stack_bytes - ROOM;
}

void gm_thread_interrupt(gm_block *block, uint64_t state, uintptr_t pc, uintptr_t sp)
{
    if (block->trace) { /* whose order does not depend on time */
        const void *step = block->trace->stream->next;
        bool accessed = step != block->polls.step || block->turn->patience != block->polls.patience;
        bool same = seen_before(block, state, sp) && !accessed;
        block->polls.same = same ? block->polls.same + 1 : 0;
        block->polls.step = step;
        block->polls.patience = block->turn->patience;
        block->polls.pc = pc;
        block->polled = true;
        gm_fiber_switch(&block->running_fiber->context, block->home);
    } else {
        give_way(block, seen_before(block, state, sp), NULL, 0);
    }
}

void gm_sim_yield(const char *file, int line)
{
    gm_block *block = gm_thread_block();
    const void *code = __builtin_return_address(0);
    if (block->trace) {
        give_way_traced(block, code, file, line);
    } else {
        give_way(block, called_before(block, code), file, line);
    }
}

void gm_sim_barrier(const char *file, int line)
{
    wait_as(gm_thread_block(), AT_BARRIER, file, line);
}

int gm_sim_barrier_reduce(int predicate, gm_reduction how, const char *file, int line)
{
    gm_block *block = gm_thread_block();
    block->strands[block->running].vote = predicate != 0;
    block->votes = true;
    wait_as(block, AT_BARRIER, file, line);
    switch (how) {
    case GM_ALL: return block->voted == block->threads;
    case GM_ANY: return block->voted > 0;
    default: return block->voted;
    }
}

void gm_sim_grid_barrier(const char *file, int line)
{
    gm_block *block = gm_thread_block();
    if (!block->grid->cooperative) {
        gm_sim_fault_of(GM_RULE_BARRIER, file, line,
                        "a barrier of the grid, but the launch is not cooperative");
    }
    block->at_grid++;
    wait_as(block, AT_BARRIER, file, line);
}

unsigned gm_sim_active_lanes(const char *file, int line)
{
    gm_block *block = gm_thread_block();
    block->at_warp++;
    wait_as(block, AT_PLACE, file, line);
    return block->strands[block->running].mask;
}

/* What the lane hands to others may be a value that it has not set. */
static void hand_unset(gm_block *block)
{
    gm_unset *unset = &block->trace->unset, *handed = &block->handed_unset[block->running].deposit;
    size_t bytes = unset->bytes < sizeof(uint64_t) ? unset->bytes : sizeof(uint64_t);
    handed->bytes = 0;
    if (bytes && memcmp(&block->handed[block->running], (const void *)unset->address, bytes) == 0) {
        *handed = *unset;
        unset->bytes = 0;
        gm_thread_take_long_way(block, block->turn->thread >= 0);
    }
}

void gm_sim_exchange(unsigned mask, uint64_t value, const char *file, int line)
{
    gm_block *block = gm_thread_block();
    if (!(mask >> block->running % GM_WARP & 1)) {
        gm_sim_fault_of(GM_RULE_WARP, file, line,
                        "the mask of a warp operation does not include the calling lane");
    }
    block->handed[block->running].deposit = value;
    if (block->trace) {
        hand_unset(block);
    }
    block->strands[block->running].mask = mask;
    block->at_warp++;
    wait_as(block, AT_WARP, file, line);
}

void gm_sim_wait_for_phase(const uint64_t *mbarrier, uint32_t parity, const char *file, int line)
{
    gm_block *block = gm_thread_block();
    gm_strand *strand = &block->strands[block->running];
    strand->mbarrier = mbarrier;
    strand->parity = parity;
    block->at_mbarrier++;
    wait_as(block, AT_MBARRIER, file, line);
}

uint64_t gm_sim_exchanged(unsigned lane)
{
    gm_block *block = gm_thread_block();
    const unsigned giver = (unsigned)block->running / GM_WARP * GM_WARP + lane % GM_WARP;
    const gm_unset *unset = block->trace ? &block->handed_unset[giver].exchanged : NULL;
    if (unset && unset->bytes && unset->thread != block->running) {
        stop_if_failed(block, gm_trace_fail_unset(block->trace, unset));
    }
    return block->handed[giver].exchanged;
}

unsigned gm_sim_lane(void)
{
    return (unsigned)gm_thread_block()->running % GM_WARP;
}

/* ---- tracing: called on the thread's fiber -------------------------------------------------- */

/* Before an access is reported: what other threads do meanwhile comes before it. */
static inline void take_turn(gm_block *block, const void *code, uintptr_t address, uint32_t bytes,
                             const char *file, int line)
{
    if (--block->turn->patience <= 0) {
        bool spins = gm_turn_look(block->turn, block->running, code, address, bytes);
        gm_thread_take_long_way(block, block->turn->thread >= 0);
        if (spins) {
            give_way_traced(block, code, file, line);
        }
    }
}

static inline void note_store(gm_block *block, uintptr_t address, uint32_t bytes, gm_kind kind)
{
    if (block->turn->thread >= 0 && kind != GM_LOAD && kind != GM_PREFETCH) {
        gm_turn_store(block->turn, address, bytes);
    }
}

static void observe(const gm_access_call *call)
{
    gm_block *block = gm_thread_block();
    if (block && block->trace) {
        take_turn(block, call->code, call->address, call->bytes, call->file, call->line);
        stop_if_failed(block, gm_trace_access(block->trace, block->running, call));
        note_store(block, call->address, call->bytes, call->kind);
    }
}

void gm_thread_repeated(gm_step *step, uintptr_t address)
{
    gm_block *block = gm_thread_block();
    stop_if_failed(block, gm_trace_repeated(block->trace, block->running, step, address));
}

void gm_sim_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                   const char *file, int line)
{
    gm_block *block = gm_thread_block();
    if (file) {
        observe(&(gm_access_call){code, address, bytes, kind, file, line, GM_BY_THREAD, NULL,
                                  GM_PLAIN, GM_SCOPE_BLOCK, GM_TOGETHER});
    } else if (block && block->trace) {
        take_turn(block, code, address, bytes, NULL, 0);
        stop_if_failed(
            block, gm_trace_own_access(block->trace, block->running, code, address, bytes, kind));
        if (block->trace->unset.bytes) {
            gm_thread_take_long_way(block, true);
        }
        note_store(block, address, bytes, kind);
    }
}

void gm_sim_strong_access(const gm_access_call *call, gm_order order)
{
    gm_block *block = gm_thread_block();
    observe(call);
    if (block && block->trace) {
        stop_if_failed(block, gm_trace_hand_over(block->trace, block->running, call, order));
    }
}

void gm_sim_fence(gm_order order, gm_scope scope, const char *file, int line)
{
    gm_block *block = gm_thread_block();
    (void)file, (void)line;
    if (block && block->trace) {
        stop_if_failed(block, gm_trace_fence(block->trace, block->running, order, scope));
    }
}

void gm_sim_bytes_access(const void *code, uintptr_t address, size_t bytes, gm_kind kind,
                         const char *file, int line)
{
    uint32_t known = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    if (bytes > 0) {
        observe(&(gm_access_call){code, address, known, kind, file, line, GM_BY_BYTES, NULL,
                                  GM_PLAIN, GM_SCOPE_BLOCK, GM_TOGETHER});
    }
}

void gm_thread_check_overlap(const void *code, uintptr_t to, uintptr_t from, size_t bytes)
{
    gm_block *block = gm_thread_block();
    /* Compilers copy a structure onto itself in this way. */
    if (block && block->trace && to != from && to < from + bytes && from < to + bytes) {
        const gm_site_record *at = gm_locate_line(block, (uintptr_t)code);
        gm_sim_fault(at ? at->file : NULL, at ? at->line : 0,
                     "memcpy to memory that overlaps with its source: memmove may do that");
    }
}

void gm_thread_freed(gm_block *block, const void *code, gm_region region)
{
    if (block->trace) {
        stop_if_failed(block, gm_trace_freed(block->trace, block->running, code, region));
    }
}

void gm_sim_engine_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                          const void *mbarrier, const char *file, int line)
{
    observe(&(gm_access_call){code, address, bytes, kind, file, line, GM_BY_ENGINE, mbarrier,
                              GM_PLAIN, GM_SCOPE_BLOCK, GM_TOGETHER});
}

void gm_sim_pipeline_access(const void *code, uintptr_t address, uint32_t bytes, gm_kind kind,
                            const char *file, int line)
{
    observe(&(gm_access_call){code, address, bytes, kind, file, line, GM_BY_PIPELINE, NULL,
                              GM_PLAIN, GM_SCOPE_BLOCK, GM_TOGETHER});
}

void gm_sim_sync(const gm_sync *sync)
{
    gm_block *block = gm_thread_block();
    if (block && block->trace) {
        stop_if_failed(block, gm_trace_sync(block->trace, block->running, sync));
    }
}

void gm_sim_local(const volatile void *address, size_t bytes, gm_local what)
{
    gm_block *block = gm_thread_block();
    if (block && block->trace) {
        stop_if_failed(
            block, gm_trace_local(block->trace, block->running, (uintptr_t)address, bytes, what));
    }
}

void gm_sim_function(bool begins)
{
    gm_block *block = gm_thread_block();
    if (block && block->trace) {
        stop_if_failed(block, gm_trace_function(block->trace, block->running, begins));
    }
}

void gm_sim_thread_end(void)
{
    gm_block *block = gm_thread_block();
    if (block && block->trace) {
        stop_if_failed(block, gm_trace_thread_end(block->trace, block->running));
    }
}
