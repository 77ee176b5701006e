/* thin: what both layouts share: how sums of warps and of blocks are added, and loads of the
 * matrix. */
#ifndef GPUMEM_MATMUL_THIN_H
#define GPUMEM_MATMUL_THIN_H

#include "matmul.h"

#include "cluster.h"

enum { ROWS = MATMUL_THIN_ROWS, LINES = MATMUL_THIN_LINES, WIDE = MATMUL_THIN_WIDE };
enum {
    PART = 4 * 32,
    BATCH = MATMUL_THIN_BATCH,
    WARPS = MATMUL_THREADS / 32,
    BLOCKS = MATMUL_THIN_CLUSTER
};

enum { SPREAD = MATMUL_THIN_SPREAD };

/* In shared memory, for each right-hand side: the sums of the warps of a block, and in the first
 * block of a cluster those of all its blocks, which arrive there. */
template <int count> struct thin_sums {
    float warps[count][WARPS * WIDE];
    float blocks[count][BLOCKS * WIDE];
    gm_mbarrier arrived;
};

/* Lines of a block: the first one, how many exist, and how many right-hand sides they have. Spread
 * lines are counted as thin_line says, and all of a block count. */
typedef struct block_lines {
    int64_t first;
    int count, sides;
    bool spread;
} block_lines;

/* Of 16 spread lines a warp has every fourth: these begin alike in aligned vectors of four,
 * wherever the first one begins. */
GM_DEVICE int64_t thin_line(const block_lines &lines, int line)
{
    const int64_t at = lines.first + line;
    const int own = (int)at & (SPREAD - 1);
    return lines.spread ? at - own + own % ROWS * ROWS + own / ROWS : at;
}

/* Where the result of a line and a right-hand side is: a has the lines, whichever was given first.
 */
GM_DEVICE int64_t thin_element(const matmul_args &a, int64_t line, int side)
{
    return a.turned ? side * a.a.lines + line : line * a.b.lines + side;
}

GM_DEVICE void store_sum(const matmul_args &a, const block_lines &lines, int line, int side,
                         float *out, float sum)
{
    const int64_t at = thin_line(lines, line);
    if (!lines.spread || at < a.a.lines) {
        out[thin_element(a, at, side)] = sum;
    }
}

/* The sum of a line's parts, `stride` apart, in this order. */
GM_DEVICE float add_in_order(const float *part, int parts, int stride)
{
    float total = 0.0f;
#pragma unroll 8
    for (int i = 0; i < parts; i++) {
        total += part[i * stride];
    }
    return total;
}

/* ---- blocks that share the depth as a cluster ------------------------------------------------ */

#if GM_HAS_CLUSTERS
/* The first block expects the sums of all. No block sends its own before all have arrived. */
template <int count>
GM_DEVICE void expect_blocks(const matmul_args &a, const block_lines &lines,
                             thin_sums<count> &shared)
{
    if (threadIdx.x == 0 && blockIdx.y == 0) {
        gm_mbarrier_init(&shared.arrived);
        gm_cluster_mbarrier_fence();
        gm_mbarrier_expect(&shared.arrived,
                           (uint32_t)(a.cluster * lines.count * lines.sides) * sizeof(float));
    }
    __syncwarp();
    gm_cluster_arrive();
}

template <int count>
GM_DEVICE void send_sum(float sum, int line, int side, thin_sums<count> &shared)
{
    gm_cluster_send(gm_cluster_address(&shared.blocks[side][blockIdx.y * WIDE + line], 0), sum,
                    gm_cluster_address(&shared.arrived, 0));
}

/* In the first block, which other blocks need until they have sent all their sums. */
template <int count>
GM_DEVICE void add_blocks(const matmul_args &a, const block_lines &lines, float *out,
                          thin_sums<count> &shared)
{
    gm_mbarrier_wait(&shared.arrived, 0);
#pragma unroll 1
    for (int i = threadIdx.x; i < count * a.tile_lines; i += MATMUL_THREADS) {
        const int line = i & (a.tile_lines - 1), side = i >> a.log_lines;
        if (line < lines.count && side < lines.sides) {
            store_sum(a, lines, line, side, out,
                      add_in_order(&shared.blocks[side][line], a.cluster, WIDE));
        }
    }
}
#endif

/* Adds what the warps of a block have summed: `parts` for each of its lines. */
template <int count>
GM_DEVICE void add_warps(const matmul_args &a, const block_lines &lines, int parts, float *out,
                         thin_sums<count> &shared)
{
    __syncthreads();
#if GM_HAS_CLUSTERS
    if (a.cluster > 0) {
        gm_cluster_wait();
    }
#endif
#pragma unroll 1
    for (int i = threadIdx.x; i < count * a.tile_lines; i += MATMUL_THREADS) {
        const int line = i & (a.tile_lines - 1), side = i >> a.log_lines;
        if (line >= lines.count || side >= lines.sides) {
            continue;
        }
        const float total = add_in_order(&shared.warps[side][line], parts, a.tile_lines);
#if GM_HAS_CLUSTERS
        if (a.cluster > 0) {
            send_sum(total, line, side, shared);
            continue;
        }
#endif
        store_sum(a, lines, line, side, out, total);
    }
#if GM_HAS_CLUSTERS
    if (a.cluster > 0 && blockIdx.y == 0) {
        add_blocks(a, lines, out, shared);
    }
#endif
}

/* Loads from the matrix; `once`: the L2 evicts it first. */
template <bool once, typename type> GM_DEVICE type thin_load(const type *from)
{
    return once ? __ldcs(from) : *from;
}

#endif
