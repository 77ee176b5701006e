/*
 * prefetch_sum / bulk: Hopper's copy engine fills a ring of `distance` stages.
 *
 * Follows  smem_rolling_async_interleaved.
 * Idea     one thread asks for the whole block's elements of a step at once; the others only wait.
 *          A stage is a step of the block: blockDim.x elements.
 * Cost     a stage is asked for again when every thread has taken its element: a barrier per step.
 * Edges    the engine moves multiples of 16 bytes from multiples of 16. A row that begins in the
 *          middle of such a piece, or ends there, has one element left over at that end.
 * Machine  UBLKCP, SYNCS
 */
#include "bulk.h"
#include "prefetch_sum.h"

typedef struct bulk_ring {
    double *stages;
    gm_mbarrier *full;
    int stage;
    uint32_t parity; /* both go on from row to row */
} bulk_ring;

GM_DEVICE void bulk_ask(const bulk_ring &ring, int stage, const double *from, int64_t count)
{
    uint32_t bytes = (uint32_t)(count < blockDim.x ? count : blockDim.x) * sizeof *from;
    gm_mbarrier_expect(&ring.full[stage], bytes);
    gm_bulk_load(ring.stages + stage * blockDim.x, from, bytes, &ring.full[stage],
                 gm_evict_first());
}

template <bool sync>
GM_DEVICE double walk(const prefetch_sum_args &a, const double *row, bulk_ring &ring)
{
    const int64_t head = a.length > 0 && (uintptr_t)row % 16 != 0;
    const int64_t body = (a.length - head) & ~(int64_t)1;
    const int64_t ahead = (int64_t)a.distance * blockDim.x;
    const bool asks = threadIdx.x == 0;
    double sum = 0;

    if (asks && head) {
        sum += prefetch_sum_f(row[0], a.work);
    }
    if (asks && head + body < a.length) {
        sum += prefetch_sum_f(row[a.length - 1], a.work);
    }
    row += head;
    if (asks) {
        int stage = ring.stage;
        for (int64_t at = 0; at < body && at < ahead; at += blockDim.x) {
            bulk_ask(ring, stage, row + at, body - at);
            stage = stage + 1 == a.distance ? 0 : stage + 1;
        }
    }
#pragma unroll 1
    for (int64_t at = 0; at < body; at += blockDim.x) { /* the block's first element */
        const bool mine = at + threadIdx.x < body;
        gm_mbarrier_wait(&ring.full[ring.stage], ring.parity);
        double x = mine ? ring.stages[ring.stage * blockDim.x + threadIdx.x] : 0;
        __syncthreads(); /* all have taken theirs */
        if (asks && at + ahead < body) {
            bulk_ask(ring, ring.stage, row + at + ahead, body - at - ahead);
        }
        if (mine) {
            sum += prefetch_sum_f(x, a.work);
        }
        ring.stage = ring.stage + 1 == a.distance ? 0 : ring.stage + 1;
        ring.parity ^= ring.stage == 0;
        prefetch_sum_meet<sync>(a, at + threadIdx.x);
    }
    return sum;
}

GM_KERNEL_BOUNDED(prefetch_sum_bulk, prefetch_sum_args, PREFETCH_SUM_THREADS, 1)
{
    GM_DYNAMIC_SHARED(double, stages);
    __shared__ gm_mbarrier full[PREFETCH_SUM_FARTHEST];
    bulk_ring ring = {stages, full, 0, 0};

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < a.distance; stage++) {
            gm_mbarrier_init(&full[stage]);
        }
    }
    __syncthreads(); /* nobody waits at a barrier that is not there yet */
    PREFETCH_SUM_EACH_ROW(PREFETCH_SUM_SYNC(walk, a, row, ring))
}
