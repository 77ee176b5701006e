/*
 * sgemm / fp16x3: FP32 accuracy on the tensor cores, at their rate for halves.
 *
 * Follows  tf32x3.
 * Idea     the tensor cores multiply halves at twice the rate of TF32 numbers, which have as many
 *          bits, but more exponents. So each row of A and column of B is scaled, and split into a
 *          high and a low half by kernels of their own (see halves.h): x y = xh yh + xh yl + xl yh.
 * Check    numbers far below the largest of their line lose bits. The kernels that split count
 *          them, and one decides on the device: where they may matter, this kernel ends at once,
 *          and those of tf32x3, or of warp_tile_tma for sums of less than 2048 terms, compute the
 *          product. They are launched in any case, and end at once if it is not their turn.
 * Sum      the tensor cores do not round to nearest: their error grows with the length of a sum.
 *          Each 64 steps start from 0, and are added up in registers, in FP32. Low halves are 2^11
 *          times too large: their products come first, and are scaled before the others are added.
 * Turns    while one warp group scales or adds, the other one's products keep the tensor cores
 *          busy, if both do not scale at the same time: they take turns at starting products.
 * Blocks   each computes one tile after the other. Its next stages are loaded while it stores.
 * Machine  UTMALDG.2D, HGMMA.64x192x16.F32
 *
 * A block computes 128 x 192 of C, in stages of 32 steps, with three warp groups of 128 threads:
 *
 *     group 0   one thread requests the halves of A and B from the copy engine
 *     group 1   rows  0-63 of C: multiplies, adds up, stores
 *     group 2   rows 64-127
 *
 * There is a ring of five stages, each with two barriers: full (the halves have arrived) and empty
 * (both groups have multiplied). A line of a stage has 128 bytes:
 *
 *     halves    0-15 high   16-31 high   0-15 low   16-31 low     a product takes 16 steps
 *
 *     tensor cores   | 1: low products | 2: low | 1: high | 2: high | 1: low ...
 *     group 1                          | scale  |         | add up  |
 *     group 2        | add up          |        | scale   |         | add up
 */
#include "fp16x3_product.h"

#if GM_HAS_WGMMA

/* ---- load ------------------------------------------------------------------------------------ */

/* One thread: requests the stages of all tiles of the block, as slots become empty. */
GM_DEVICE void load_tiles(const sgemm_engine_args &a, const ring &r, const engine_share &share)
{
    const unsigned tiles = (unsigned)(a.product.tiles_x * a.product.tiles_y);
    const int stages = count_stages(share), first = (int)share.first * FP16X3_TOGETHER;
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
            gm_tensor_load(to->b, &a.b, t * geometry::line, (int)column, full);
            advance(at);
        }
    }
}

/* ---- release --------------------------------------------------------------------------------- */

/* The threads of a group have multiplied a stage. */
GM_DEVICE void release_stage(const ring &r, int slot)
{
    if (threadIdx.x % 128 == 0) {
        gm_mbarrier_arrive(&r.empty[slot]);
    }
}

#endif

GM_KERNEL_BOUNDED(sgemm_fp16x3, sgemm_fp16x3_args, FP16X3_THREADS, 1)
{
#if GM_HAS_WGMMA
    GM_DYNAMIC_SHARED(stage, stages);
    gm_mbarrier *barriers = (gm_mbarrier *)(stages + FP16X3_STAGES);
    const ring r = {stages, barriers, barriers + FP16X3_STAGES};
    const engine_share share = engine_find_share(a.engine, FP16X3_DEPTH);

    if (threadIdx.x == 0) {
        for (int slot = 0; slot < FP16X3_STAGES; slot++) {
            gm_mbarrier_init_count(&r.full[slot], 1);
            gm_mbarrier_init_count(&r.empty[slot], 2);
        }
    }
    gm_wait_for_previous();
    if (!engine_is_turn(a.engine.turn)) {
        return;
    }
    __syncthreads();
    if (threadIdx.x < geometry::producers) {
        gm_fewer_registers<40>();
        if (threadIdx.x == 0) {
            load_tiles(a.engine, r, share);
        }
    } else {
        gm_more_registers<232>();
        multiply<release_stage>(a, r, share);
    }
#else
    (void)a; /* the row names the one target that has these instructions */
#endif
}
