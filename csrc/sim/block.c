/* Runs a block, warp by warp, from one barrier of the block to the next. */
#include "sim/block.h"

#include <stdlib.h>

#include "sim/locate.h"
#include "sim/postponed.h"
#include "sim/thread.h"
#include "sim/trace.h"
#include "sim/warp.h"

gm_status gm_block_prepare(gm_block *block, const gm_grid *grid)
{
    block->grid = grid;
    block->kernel = grid->trace ? grid->kernel.traced : grid->kernel.plain;
    block->trace = grid->trace;
    block->at_warp = block->at_mbarrier = block->gave_way = block->at_grid = 0;
    block->grid_barriers = 0;
    block->barriers = block->warps = 0;
    block->threads = (int)(grid->block.x * grid->block.y * grid->block.z);
    free(block->strands);
    free(block->dynamic_shared);
    free(block->handed);
    free(block->handed_unset);
    block->strands = calloc((size_t)block->threads, sizeof *block->strands);
    const size_t lanes = ((size_t)block->threads + GM_WARP - 1) / GM_WARP * GM_WARP;
    block->handed = calloc(lanes, sizeof *block->handed);
    block->handed_unset = grid->trace ? calloc(lanes, sizeof *block->handed_unset) : NULL;
    /* As aligned as GM_DYNAMIC_SHARED promises. */
    block->dynamic_shared = aligned_alloc(1024, (grid->shared_bytes + 1024) & ~(size_t)1023);
    free(block->turn);
    block->turn = grid->trace ? gm_turn_create() : NULL;
    free(block->shared);
    block->shared = NULL;
    block->traced = NULL;
    free(block->states);
    block->states = NULL;
    if (!block->strands || !block->dynamic_shared || !block->handed ||
        (grid->trace && (!block->turn || !block->handed_unset))) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the threads of a block");
    }
    for (int t = 0; t < block->threads; t++) {
        unsigned i = (unsigned)t, x = grid->block.x, y = grid->block.y;
        block->strands[t].index = (gm_index){i % x, i / x % y, i / x / y};
    }
    return GM_OK;
}

void gm_block_free(gm_block *block)
{
    gm_fiber_pool_free(&block->fibers);
    free(block->strands);
    free(block->handed);
    free(block->handed_unset);
    free(block->dynamic_shared);
    free(block->turn);
    free(block->states);
    free(block->shared);
}

static gm_warp warp_from(const gm_block *block, int first)
{
    int past = first + GM_WARP;
    return (gm_warp){first, past < block->threads ? past : block->threads};
}

static void count_votes(gm_block *block)
{
    block->votes = false;
    block->voted = 0;
    for (int t = 0; t < block->threads; t++) {
        block->voted += block->strands[t].vote;
    }
}

/* All threads wait at a barrier of the block or have ended. */
static gm_status pass_barrier(gm_block *block)
{
    int thread = gm_barrier_check(block->strands, block->threads, block->done);
    if (thread >= 0) {
        const gm_strand *strand = &block->strands[thread];
        return gm_locate_thread(block, thread, strand->file, strand->line);
    }
    block->barriers++;
    block->moves++;
    if (block->votes) {
        count_votes(block);
    }
    return block->trace ? gm_locate_traced(block, gm_trace_barrier(block->trace)) : GM_OK;
}

/* Of the first thread that waits so. */
static gm_status fail_waiting(gm_block *block, gm_strand_state state)
{
    int thread = 0;
    while (block->strands[thread].state != state) {
        thread++;
    }
    const gm_strand *strand = &block->strands[thread];
    return gm_locate_thread(block, thread, strand->file, strand->line);
}

static gm_status fail_at_mbarrier(gm_block *block)
{
    gm_find(GM_RULE_MBARRIER, "waits on an mbarrier whose phase never completes");
    return fail_waiting(block, AT_MBARRIER);
}

/* Threads wait for others of the block, or spin, until all are at a barrier or have ended, or no
 * thread goes on: the block is then stuck. */
static gm_status meet(gm_block *block)
{
    gm_status status = GM_OK;
    while (block->at_warp + block->at_mbarrier + block->gave_way > 0) {
        int64_t moves = block->moves;
        for (int first = 0; first < block->threads && status == GM_OK; first += GM_WARP) {
            status = gm_warp_run_waiting(block, warp_from(block, first));
            if (status == GM_OK && block->trace) {
                status = gm_thread_flush(block, first / GM_WARP);
            }
        }
        status = status == GM_OK ? gm_interrupt_check(&block->interrupt) : status;
        if (status != GM_OK) {
            return status;
        }
        if (block->moves == moves && block->gave_way == 0) {
            return fail_at_mbarrier(block);
        }
        if (block->moves == moves) {
            block->standing = GM_STUCK;
            return GM_OK;
        }
    }
    return GM_OK;
}

gm_status gm_block_begin(gm_block *block, int64_t number)
{
    const gm_index index = gm_block_index(block->grid, number);
    block->lane->block_index = index;
    block->number = number;
    block->done = 0;
    block->standing = GM_BEGUN;
    block->phase = GM_STARTS;
    if (!block->trace) {
        return GM_OK;
    }
    uintptr_t shared = (uintptr_t)block->dynamic_shared;
    gm_status status = gm_trace_block_open(
        block->trace, (gm_dim){index.x, index.y, index.z}, number,
        (gm_region){shared, shared + block->grid->shared_bytes}, &block->fibers);
    block->traced = block->trace->current;
    return status;
}

static gm_status end_block(gm_block *block)
{
    block->warps += (block->threads + GM_WARP - 1) / GM_WARP;
    block->standing = GM_ENDED;
    free(block->states);
    block->states = NULL;
    return block->trace ? gm_locate_traced(block, gm_trace_block_close(block->trace)) : GM_OK;
}

/* The first thread hands on what the block has done, or learns what others have. */
static gm_status order_blocks(gm_block *block, gm_kind kind)
{
    const gm_access_call call = {.address = (uintptr_t)&block->trace->grid_barrier,
                                 .bytes = 1,
                                 .kind = kind,
                                 .strength = GM_ATOMIC,
                                 .scope = GM_SCOPE_DEVICE};
    return gm_trace_hand_over(block->trace, 0, &call, GM_ORDER_SEQUENTIAL);
}

gm_status gm_block_pass_grid(gm_block *block)
{
    block->at_grid = 0;
    block->grid_barriers++;
    gm_status status = block->trace ? order_blocks(block, GM_LOAD) : GM_OK;
    return block->trace && status == GM_OK ? gm_trace_barrier(block->trace) : status;
}

gm_status gm_block_advance(gm_block *block)
{
    gm_status status = GM_OK;
    while (status == GM_OK) {
        bool fresh = block->phase == GM_STARTS, run = block->phase != GM_MEETS;
        for (int first = 0; run && first < block->threads && status == GM_OK; first += GM_WARP) {
            status = gm_warp_run(block, warp_from(block, first), fresh);
        }
        block->phase = GM_MEETS;
        block->standing = GM_ENDED;
        status = status == GM_OK ? meet(block) : status;
        if (status != GM_OK || block->standing == GM_STUCK) {
            return status;
        }
        if (block->done == block->threads) {
            return end_block(block);
        }
        status = pass_barrier(block);
        block->phase = GM_GOES_ON;
        if (status == GM_OK && block->at_grid > 0) {
            block->standing = GM_AT_GRID;
            return block->trace ? order_blocks(block, GM_UPDATE) : GM_OK;
        }
    }
    return status;
}

gm_status gm_block_fail_stuck(gm_block *block, const char *why)
{
    gm_status earlier = block->trace ? gm_postponed_tell(block->trace) : GM_OK;
    if (earlier != GM_OK) {
        return gm_locate_traced(block, earlier);
    }
    if (block->standing == GM_AT_GRID) {
        gm_find(GM_RULE_BARRIER, "a barrier of the grid that not all blocks reach");
        return fail_waiting(block, AT_BARRIER);
    }
    const gm_turn *turn = block->turn;
    int thread = turn ? turn->last : 0;
    bool known = turn && block->strands[thread].state == GAVE_WAY && turn->places > 0;
    while (block->strands[thread].state != GAVE_WAY) {
        thread = (thread + 1) % block->threads;
    }
    if (known) {
        gm_find(GM_RULE_ENDLESS,
                "a spin that never ends: it reads %u bytes at address 0x%llx, which no thread "
                "changes any "
                "more%s",
                turn->bytes, (unsigned long long)turn->address, why);
    } else {
        gm_find(GM_RULE_ENDLESS,
                "a spin that never ends, on memory that no thread changes any more%s", why);
    }
    return gm_locate_spin(block, thread, known ? turn->code : NULL);
}
