/*
 * sgemm / fp16x3_multicast: two multiprocessors read what both need from the L2 once.
 *
 * Follows  fp16x3, whose blocks read 40 KiB from the L2 for 32 steps, 1 byte per 38 operations.
 * Idea     the two blocks of a cluster compute tiles below one another, which need the same columns
 *          of B. Each requests one half of them, and the copy engine writes it to the shared memory
 *          of both: 128 + 192 / 2 lines per block and step instead of 128 + 192, seven tenths.
 * Gain     on an H200 0 to 2 %: at 6.4 TB/s the reads of the L2 were not the limit.
 * Cost     a stage is filled again when the groups of both blocks have multiplied it: the two run
 *          in step. Where the tiles are an odd number of rows, those of a row outside C are loaded,
 *          as zeros, and not stored.
 * Sum      as in fp16x3, and so are the check, the turns and the tiles; the results are the same
 *          bits where as many blocks share the depth.
 * Machine  UTMALDG.2D.MULTICAST, SYNCS.ARRIVE (mbarrier.arrive.shared::cluster), UCGABAR_WAIT
 *
 * Who writes and who tells whom, for slot s of both rings; block 1 does the same as block 0:
 *
 *     engine, for block 0    A 0 -> s of 0         upper half of B -> s of 0, and s of 1
 *     engine, for block 1    A 1 -> s of 1         lower half of B -> s of 0, and s of 1
 *     full[s] of a block     1 arrival, of its own producer, which expects the bytes of a stage:
 *                            those of its A, of its half of B and of the other block's
 *     empty[s] of a block    4 arrivals: of groups 1 and 2 of both blocks
 *
 *     producer 0  | waits for empty[s] of 0 | expects on full[s] of 0 | requests A 0, its half of B
 *     groups of 0 | wait for full[s] of 0   | multiply                | arrive: empty[s] of 0 and 1
 *
 * Phases   n counts how often a slot is used. A block's bytes for use n may reach the other one
 *          before that one's producer expects them, but not before its use n - 1 is complete: they
 *          are requested after 4 arrivals for n - 1, and its groups arrive after they waited for
 *          full[s]. Neither can a group arrive twice in one phase of the other's empty[s]: use n
 *          needs the half that the other producer requests after that phase. Stages are requested
 *          in one order by both, so that no block waits for a stage that the other one requests
 *          only later.
 * Begin    no bytes and no arrivals before the barriers of both blocks are initialised: a barrier
 *          of the cluster. Whether it is the kernel's turn is known before, and the same in both.
 * End      a block's shared memory has to be there until the other one's last arrival: the same.
 */
#include "fp16x3_product.h"

#include "cluster.h"

#if GM_HAS_WGMMA

enum { ALL_BLOCKS = (1 << FP16X3_CLUSTER) - 1, SHARED_LINES = FP16X3_WIDTH / FP16X3_CLUSTER };

static_assert(SHARED_LINES % 8 == 0, "eight lines are the period of the swizzle, 1024 bytes");

GM_DEVICE unsigned own_rank(void)
{
    return blockIdx.x % FP16X3_CLUSTER;
}

/* One thread: requests the stages of all tiles of the block, as slots become empty in the cluster.
 */
GM_DEVICE void load_tiles(const sgemm_engine_args &a, const ring &r, const engine_share &share)
{
    const unsigned tiles = (unsigned)(a.product.tiles_x * a.product.tiles_y);
    const int stages = count_stages(share), first = (int)share.first * FP16X3_TOGETHER;
    const int skipped = (int)own_rank() * SHARED_LINES; /* lines of B that other blocks request */
    place at = {0, 1};
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int64_t row, column;
        sgemm_find_tile(a.product, tile, FP16X3_HEIGHT, FP16X3_WIDTH, &row, &column);
#pragma unroll 1
        for (int t = first; t < first + stages; t++) {
            gm_mbarrier *full = &r.full[at.slot];
            stage *to = &r.stages[at.slot];
            gm_mbarrier_wait(&r.empty[at.slot], at.parity);
            gm_mbarrier_expect(full, sizeof(stage));
            gm_tensor_load(to->a, &a.a, t * geometry::line, (int)row, full);
            gm_tensor_load_multicast(to->b + skipped * geometry::line, &a.b, t * geometry::line,
                                     (int)column + skipped, full, ALL_BLOCKS);
            advance(at);
        }
    }
}

/* One thread of the group for each block of the cluster: the stage is multiplied. */
GM_DEVICE void release_stage(const ring &r, int slot)
{
    const unsigned block = threadIdx.x % 128;
    if (block < FP16X3_CLUSTER) {
        gm_cluster_mbarrier_arrive(gm_cluster_address(&r.empty[slot], block));
    }
}

#endif

GM_KERNEL_CLUSTERED_BOUNDED(sgemm_fp16x3_multicast, sgemm_fp16x3_args, FP16X3_CLUSTER,
                            FP16X3_THREADS, 1)
{
#if GM_HAS_WGMMA
    GM_DYNAMIC_SHARED(stage, stages);
    gm_mbarrier *barriers = (gm_mbarrier *)(stages + FP16X3_STAGES);
    const ring r = {stages, barriers, barriers + FP16X3_STAGES};
    const engine_share share = engine_find_share(a.engine, FP16X3_DEPTH);

    if (threadIdx.x == 0) {
        for (int slot = 0; slot < FP16X3_STAGES; slot++) {
            gm_mbarrier_init_count(&r.full[slot], 1);
            gm_mbarrier_init_count(&r.empty[slot], 2 * FP16X3_CLUSTER);
        }
        gm_cluster_mbarrier_fence();
    }
    gm_wait_for_previous();
    if (!engine_is_turn(a.engine.turn)) {
        return;
    }
    __syncwarp();
    gm_cluster_barrier();
    if (threadIdx.x < geometry::producers) {
        gm_fewer_registers<40>();
        if (threadIdx.x == 0) {
            load_tiles(a.engine, r, share);
        }
    } else {
        gm_more_registers<232>();
        multiply<release_stage>(a, r, share);
    }
    __syncwarp();
    gm_cluster_barrier();
#else
    (void)a; /* the row names the one target that has these instructions */
#endif
}
