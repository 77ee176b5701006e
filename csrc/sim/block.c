/* Runs a block, warp by warp, from one barrier of the block to the next. */
#include "sim/block.h"

#include <stdlib.h>

#include "sim/thread.h"
#include "sim/trace.h"
#include "sim/warp.h"

gm_status gm_block_prepare(gm_block *block, const gm_grid *grid)
{
    block->grid = grid;
    block->kernel = grid->trace ? grid->kernel.traced : grid->kernel.plain;
    block->trace = grid->trace;
    block->at_warp = block->at_mbarrier = 0;
    block->barriers = block->warps = 0;
    block->threads = (int)(grid->block.x * grid->block.y * grid->block.z);
    free(block->strands);
    free(block->dynamic_shared);
    block->strands = calloc((size_t)block->threads, sizeof *block->strands);
    /* As aligned as GM_DYNAMIC_SHARED promises. */
    block->dynamic_shared = aligned_alloc(1024, (grid->shared_bytes + 1024) & ~(size_t)1023);
    if (!block->strands || !block->dynamic_shared) {
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
    free(block->dynamic_shared);
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
        return gm_thread_locate(block, thread, strand->file, strand->line);
    }
    block->barriers++;
    if (block->votes) {
        count_votes(block);
    }
    return block->trace ? gm_thread_locate_traced(block, gm_trace_barrier(block->trace)) : GM_OK;
}

static gm_status fail_at_mbarrier(gm_block *block)
{
    int thread = 0;
    while (block->strands[thread].state != AT_MBARRIER) {
        thread++;
    }
    const gm_strand *strand = &block->strands[thread];
    gm_fail(GM_ERROR_SIMULATION, "waits on an mbarrier whose phase never completes");
    return gm_thread_locate(block, thread, strand->file, strand->line);
}

/* Warps may wait on mbarriers at which other warps have arrived since. */
static gm_status serve_mbarriers(gm_block *block)
{
    gm_status status = GM_OK;
    while (block->at_mbarrier > 0 && status == GM_OK) {
        bool progress = false;
        for (int first = 0; first < block->threads && status == GM_OK; first += GM_WARP) {
            status = gm_warp_run_waiting(block, warp_from(block, first), &progress);
            if (status == GM_OK && block->trace) {
                status = gm_thread_flush(block, first / GM_WARP);
            }
        }
        if (status == GM_OK) {
            status = progress ? gm_interrupt_check(&block->interrupt) : fail_at_mbarrier(block);
        }
    }
    return status;
}

static gm_status begin_block(gm_block *block, int64_t number)
{
    const gm_dim grid = block->grid->grid;
    const gm_dim index = {(unsigned)(number % grid.x), (unsigned)(number / grid.x % grid.y),
                          (unsigned)(number / grid.x / grid.y)};
    block->lane->block_index = (gm_index){index.x, index.y, index.z};
    block->done = 0;
    if (!block->trace) {
        return GM_OK;
    }
    uintptr_t shared = (uintptr_t)block->dynamic_shared;
    return gm_trace_block_open(block->trace, index, number,
                               (gm_region){shared, shared + block->grid->shared_bytes},
                               &block->fibers);
}

gm_status gm_block_run(gm_block *block, int64_t number)
{
    gm_status status = begin_block(block, number);
    for (bool fresh = true; status == GM_OK && block->done < block->threads; fresh = false) {
        status = fresh ? GM_OK : pass_barrier(block);
        for (int first = 0; first < block->threads && status == GM_OK; first += GM_WARP) {
            status = gm_warp_run(block, warp_from(block, first), fresh);
        }
        if (status == GM_OK) {
            status = serve_mbarriers(block);
        }
    }
    if (status != GM_OK) {
        return status;
    }
    block->warps += (block->threads + GM_WARP - 1) / GM_WARP;
    return block->trace ? gm_thread_locate_traced(block, gm_trace_block_close(block->trace))
                        : GM_OK;
}
