/*
 * warp_tile_tma with a B whose depth is contiguous: the block transposes it in shared memory.
 *
 * A thread needs the columns of one step side by side: neighbours of one column would lie in
 * registers of the same bank as its sums, see banks.h. The engine brings a stage of B as 128 lines
 * of 32 steps, 128 bytes each. Thread i transposes line i, half a stage ahead of the products, by
 * 10 accesses for the 1024 products of eight steps. If the depth of A is contiguous too, so is A:
 * of both, only one may be kept, and B's 16 columns of a thread cannot.
 *
 *     ring     line 0    s0 s1 s2 s3 ...          transposed    step 0    l0 l1 l2 l3 ... l127
 *              line 1    s0 s1 s2 s3 ...                        step 1    l0 l1 l2 l3 ... l127
 *
 *     steps of the stage     0 ... 15              16 ... 31              0 ... 15 of the next
 *     are multiplied       |                     |                      |
 *     are transposed       | 16 ... 31           | 0 ... 15 of the next | 16 ... 31 of the next
 *                                                ^ __syncthreads() after each half
 *
 * Lines are swizzled: the eight of a pass of 128-bit reads have their pieces in different banks.
 *
 * Read by warp_tile_tma.h alone.
 */
#ifndef GPUMEM_SGEMM_TMA_ALONG_H
#define GPUMEM_SGEMM_TMA_ALONG_H

enum { TMA_PIECE = 4 /* steps of a line, side by side */ };

/* A piece, to where lines are side by side. */
GM_DEVICE void tma_put_piece(float *to, float4 four)
{
    to[0] = four.x;
    to[WARP_TILE_TMA_WIDTH] = four.y;
    to[2 * WARP_TILE_TMA_WIDTH] = four.z;
    to[3 * WARP_TILE_TMA_WIDTH] = four.w;
}

/* The thread's part in transposing: its line of B, and of A. */
template <typename tile> struct tma_lines {
    int line;  /* floats to that of A in a stage, swizzled; that of B is floats_a behind it */
    float *to; /* its number of step 0; of both, that of B is a stage of A behind that of A */
    float4 of_a, of_b;
};

template <typename tile>
GM_DEVICE void tma_take_pieces(tma_lines<tile> &lines, const float *stage, int step)
{
    const float *const from = stage + (lines.line ^ step);
    if constexpr (tile::both) {
        lines.of_a = *(const float4 *)from;
    }
    lines.of_b = *(const float4 *)(from + tile::floats_a);
}

template <typename tile> GM_DEVICE void tma_put_pieces(const tma_lines<tile> &lines, int step)
{
    float *const to = lines.to + step * tile::width;
    if constexpr (tile::both) {
        tma_put_piece(to, lines.of_a);
    }
    tma_put_piece(to + (tile::both ? tile::floats_a : 0), lines.of_b);
}

/* The first half of the first stage. */
template <typename tile>
GM_DEVICE void tma_transpose_first(tma_lines<tile> &lines, const float *stage)
{
    __syncthreads(); /* what has been transposed before was read */
#pragma unroll
    for (int step = 0; step < tile::depth / 2; step += TMA_PIECE) {
        tma_take_pieces<tile>(lines, stage, step);
        tma_put_pieces<tile>(lines, step);
    }
    __syncthreads();
}

/* What is transposed during step k of eight: pieces are read at one step and written two later. */
template <typename tile>
GM_DEVICE void tma_transpose_step(tma_lines<tile> &lines, const float *stage, int ahead, int k)
{
    if (k % TMA_PIECE == 0) {
        tma_take_pieces<tile>(lines, stage, ahead + k);
    }
    if (k % TMA_PIECE == 2) {
        tma_put_pieces<tile>(lines, ahead + k - 2);
    }
}

/* As tma_sum_across. What has been transposed lies behind the ring. */
template <typename tile, typename feed_type>
GM_DEVICE void tma_sum_along(float (&sum)[tile::rows][tile::columns], const feed_type &feed,
                             float *shared, gm_mbarrier *full, tma_ring &ring, int count)
{
    enum { HALF = tile::depth / 2 /* steps */ };
    static_assert(tile::threads == tile::width && tile::depth * sizeof(float) == 128 && !tile::kept,
                  "a line for each thread, of 128 bytes");
    const int at_a = tma_first_of_a<tile>(), thread = threadIdx.x;
    float *const transposed = shared + tile::ring;
    const float *const at_b = transposed + (tile::both ? tile::floats_a : 0) + warp_lane_x() * 4;
    tma_lines<tile> lines = {
        thread * tile::depth + thread % 8 * TMA_PIECE, transposed + thread, {}, {}};
    float of_a[2 * tile::rows], of_b[2][tile::columns];
    int slot = ring.slot;
    uint32_t parity = ring.parity;

    gm_mbarrier_wait(&full[slot], parity);
    tma_transpose_first<tile>(lines, shared + slot * tile::floats);
    const float *step_a = tile::both ? transposed + at_a : shared + slot * tile::floats + at_a;
    const float *step_b = at_b;
    warp_read<tile::rows, WARP_LANES_Y>(of_a, step_a);
    warp_read<tile::columns, WARP_LANES_X>(of_b[0], step_b);

    for (int left = count; left > 0; left--) {
        const int after = slot + 1 == tile::stages ? 0 : slot + 1;
        const uint32_t after_parity = after == 0 ? parity ^ 1 : parity;
        const int next = left > 1 ? after : slot; /* or the same again, for nothing */
        const float *const first_a =
            tile::both ? transposed + at_a : shared + next * tile::floats + at_a;
#pragma unroll 1
        for (int box = 0; box < tile::boxes; box++) {
            const int ahead = (box * WARP_STEPS) ^ HALF; /* steps that are transposed */
            const bool ends = box + 1 == tile::boxes;
            const float *const stage = shared + (ahead < HALF ? next : slot) * tile::floats;
            const float *const next_a = ends ? first_a : step_a + tile::box;
            const float *const next_b = ends ? at_b : step_b + tile::box;
#pragma unroll
            for (int k = 0; k < WARP_STEPS; k++) {
                const int then = (k + 1) % WARP_STEPS;
                if (then == 0) {
                    if (box == 1) { /* the lines of the next stage are needed from here on */
                        gm_mbarrier_wait(&full[next], left > 1 ? after_parity : parity);
                    }
                    if (box % 2 == 1) {
                        __syncthreads(); /* this half has been read, the next is there */
                    }
                    step_a = next_a;
                    step_b = next_b;
                }
                warp_read<tile::columns, WARP_LANES_X>(of_b[(k + 1) % 2],
                                                       step_b + then * tile::width);
                warp_read<tile::rows, WARP_LANES_Y>(&of_a[(k + 1) % 2 * tile::rows],
                                                    step_a + then * tile::height);
                tma_transpose_step<tile>(lines, stage, ahead, k);
                warp_multiply<false>(sum, of_a, of_b[k % 2], k, NULL);
            }
            if (tile::both && box == 1 && left > 1) {
                tma_refill(feed, count - left, slot); /* all of it has been transposed */
            }
        }
        if (!tile::both || left == 1) {
            tma_refill(feed, count - left, slot); /* all have read the stage */
        }
        slot = after;
        parity = after_parity;
    }
    __syncthreads(); /* all have read what was for nothing, too */
    ring.slot = slot;
    ring.parity = parity;
}

#endif
