/*
 * prefetch_sum / bulk: Hopper's copy engine fills a ring of `distance` stages for each warp.
 *
 * Follows  smem_rolling_async_interleaved.
 * Idea     one lane requests what its warp needs in the next four steps with one instruction,
 *          instead of a load per lane. A stage is 128 elements in a row.
 * Ring     a warp waits for its own stages only, and refills one as soon as its lanes have read
 *          their elements: no barrier of the block.
 * Depth    the plan gives a warp `distance` stages, or fewer where many warps are resident: what is
 *          requested beyond 64 KiB per multiprocessor only waits longer.
 * Fence    a load from shared memory may still be under way when a later instruction begins, for
 *          hundreds of cycles beside kernels with bank conflicts. Without the fence the engine then
 *          writes first, and the lane reads an element of a later step.
 * Edges    the engine moves multiples of 16 bytes from addresses that are multiples of 16. A row
 *          that begins or ends in between has one element more at that end.
 * Machine  UBLKCP, SYNCS
 */
#include "bulk.h"
#include "prefetch_sum.h"

enum { STEPS = PREFETCH_SUM_BULK_STEPS, STAGE = 32 * STEPS };

typedef struct bulk_ring {
    double *stages;
    gm_mbarrier *full;
    uint64_t policy;
    int stage;
    uint32_t parity; /* stage and parity continue from row to row */
} bulk_ring;

GM_DEVICE void bulk_fill(const bulk_ring &ring, int stage, const double *from, int64_t count)
{
    uint32_t bytes = (uint32_t)((count < STAGE ? count : (int64_t)STAGE) * sizeof *from);
    gm_mbarrier_expect(&ring.full[stage], bytes);
    gm_bulk_load(ring.stages + stage * STAGE, from, bytes, &ring.full[stage], ring.policy);
}

template <bool sync>
GM_DEVICE double walk(const prefetch_sum_args &a, const double *row, bulk_ring &ring)
{
    const int lane = threadIdx.x % 32;
    const int64_t head = a.length > 0 && (uintptr_t)row % 16 != 0;
    const int64_t body = (a.length - head) & ~(int64_t)1;
    const int64_t step = (int64_t)STEPS * blockDim.x, ahead = step * a.distance;
    const int64_t first = (int64_t)STAGE * (threadIdx.x / 32); /* the warp's */
    double sum = 0;

    if (threadIdx.x == 0 && head) {
        sum += prefetch_sum_f(row[0], a.work);
    }
    if (threadIdx.x == 0 && head + body < a.length) {
        sum += prefetch_sum_f(row[a.length - 1], a.work);
    }
    row += head;
    if (lane == 0) {
        int stage = ring.stage;
        for (int64_t at = first; at < body && at < first + ahead; at += step) {
            bulk_fill(ring, stage, row + at, body - at);
            stage = stage + 1 == a.distance ? 0 : stage + 1;
        }
    }
#pragma unroll 1
    for (int64_t at = first; at < body; at += step) {
        const int count = body - at < STAGE ? (int)(body - at) : STAGE; /* the stage's elements */
        const double *from = ring.stages + ring.stage * STAGE;
        double v[STEPS];
        gm_mbarrier_wait(&ring.full[ring.stage], ring.parity);
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            v[k] = k * 32 + lane < count ? from[k * 32 + lane] : 0;
        }
        gm_bulk_fence();
        __syncwarp(); /* all lanes have read theirs */
        if (lane == 0 && at + ahead < body) {
            bulk_fill(ring, ring.stage, row + at + ahead, body - at - ahead);
        }
        if (a.work > 0) {
#pragma unroll
            for (int k = 0; k < STEPS; k++) {
                v[k] = prefetch_sum_f(v[k], a.work);
            }
        }
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            sum += k * 32 + lane < count ? v[k] : 0;
            if (sync && at - first + step <= body) { /* all warps are here */
                __syncthreads();
            }
        }
        ring.stage = ring.stage + 1 == a.distance ? 0 : ring.stage + 1;
        ring.parity ^= ring.stage == 0;
    }
    return sum;
}

GM_KERNEL_BOUNDED(prefetch_sum_bulk, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    GM_DYNAMIC_SHARED(double, stages);
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    gm_mbarrier *full = (gm_mbarrier *)(stages + warps * a.distance * STAGE);
    bulk_ring ring = {stages + warp * a.distance * STAGE, full + warp * a.distance,
                      gm_evict_first(), 0, 0};

    if (threadIdx.x % 32 == 0) {
        for (int stage = 0; stage < a.distance; stage++) {
            gm_mbarrier_init(&ring.full[stage]);
        }
    }
    __syncwarp(); /* the mbarriers are initialised before any lane waits */
    PREFETCH_SUM_EACH_ROW(PREFETCH_SUM_SYNC(walk, a, row, ring))
}
