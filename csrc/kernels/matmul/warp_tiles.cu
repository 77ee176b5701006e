/*
 * matmul / warp_tiles: the tiles of sgemm's warp_tile, for every product of a stack in one launch.
 *
 * Follows  tiles, whose threads read 12 numbers of a step for 32 products: shared memory takes half
 *          as long again to deliver the numbers as the products take.
 * Idea     8 x 8 or 8 x 16 sums per thread: 16 numbers for 64 products, or 24 for 128; 8 x 4 where
 *          there would be too few warps to hide each other's waits: of small results, and of few
 *          tiles for a multiprocessor. The first numbers of a stage are read while the last
 *          products of the one before are made. There is no copy engine, so that rows may begin
 *          anywhere.
 * Groups   a pair of warps that is a block keeps two of the four schedulers of its multiprocessor
 *          busy. Where tiles are few, two pairs share the depth of one, stage by stage, and the
 *          sums of the second are added to those of the first.
 * Shares   two blocks that share the depth of a tile are a cluster, where there are clusters: the
 *          first one reads the sums of the second in its shared memory.
 * Result   where rows begin at an odd place a warp's sums go through shared memory, so that its
 *          lanes store neighbours, in a quarter of the requests: see warp_store.h.
 *          Where the depth of B is contiguous and that of A is not, A and B change places, so that
 *          both are copied by vectors, and the sums are transposed on their way.
 * Edges    a warp with no row or column of the matrix only copies for the others, and one with at
 *          most 16 rows, or half of its columns, makes half of the products.
 * Code     a kernel for each layout. One with all of them has 130 to 290 KB of code, and calls with
 *          what is beyond the first 64 KB took up to twice as long: see docs/families/matmul.md.
 * Banks    of registers, as in sgemm's warp_tile.
 * Build    nvcc -Xptxas=-O1
 * Machine  LDGSTS, LDS.128, FFMA, STG.128
 */
#include "matmul.h"

#include "cluster.h"
#include "sgemm/warp_tile.h"

enum { WARP_TILES_SIDE = 32 }; /* of the sums that a warp transposes at a time */

/*                height, width, stages, rows and columns of a thread, groups, trims */
typedef warp_tile<32, 32, 4, 8, 4, 2, true> shape_32x32;
typedef warp_tile<32, 64, 4, 8, 8, 1, true> shape_32x64;
typedef warp_tile<64, 64, 4, 8, 8, 2, true> shape_64x64;
typedef warp_tile<64, 64, 4, 8, 8, 1, true> shape_p64x64;
typedef warp_tile<64, 64, 4, 8, 4, 1, true> shape_q64x64;
typedef warp_tile<128, 128, 4, 8, 16, 1, true> shape_128x128;

#define FITS(name)                                                                                 \
    static_assert(shape_##name::shared_bytes == MATMUL_BYTES_e##name, "the ladder says how much")
FITS(32x32);
FITS(32x64);
FITS(64x64);
FITS(p64x64);
FITS(q64x64);
FITS(128x128);

/* ---- the result ------------------------------------------------------------------------------ */

/* Floats in which a second group leaves its sums. */
template <typename tile> GM_DEVICE constexpr int warp_tiles_left(void)
{
    static_assert(tile::groups <= 2, "one group leaves its sums to the other");
    return tile::groups > 1 ? tile::rows * tile::columns * tile::threads : 0;
}

/* Leaves a thread's sums in shared memory, in quads beside those of the others. */
template <typename tile>
GM_DEVICE void warp_tiles_leave(const float (&sum)[tile::rows][tile::columns], float *shared)
{
    float4 *const own = (float4 *)shared + warp_tile_thread<tile>();
#pragma unroll
    for (int i = 0; i < tile::rows * tile::columns / 4; i++) {
        banks_leave_quad(&sum[i * 4 / tile::columns][i * 4 % tile::columns],
                         own + i * tile::threads);
    }
}

/* Quad i of a thread. `more` is a copy, so that it is loaded as one vector. */
template <typename tile>
GM_DEVICE void warp_tiles_add_quad(float (&sum)[tile::rows][tile::columns], int i, float4 more)
{
    float *const to = &sum[i * 4 / tile::columns][i * 4 % tile::columns];
    to[0] += more.x, to[1] += more.y, to[2] += more.z, to[3] += more.w;
}

/* Adds the sums of a second group to those of the first, which alone goes on: true. */
template <typename tile>
GM_DEVICE bool warp_tiles_add_groups(float (&sum)[tile::rows][tile::columns], float *shared)
{
    __syncthreads(); /* all have read the last stage */
    if constexpr (tile::groups > 1) {
        const float4 *const own = (const float4 *)shared + warp_tile_thread<tile>();
        const bool first = warp_tile_group<tile>() == 0;
        if (!first) {
            warp_tiles_leave<tile>(sum, shared);
        }
        __syncthreads();
        if (!first) {
            return false;
        }
#pragma unroll
        for (int i = 0; i < tile::rows * tile::columns / 4; i++) {
            warp_tiles_add_quad<tile>(sum, i, own[i * tile::threads]);
        }
    }
    return true;
}

#if GM_HAS_CLUSTERS
/* Adds the sums of the second block of the cluster to those of the first one, which alone goes on:
 * true. The second waits until they have been read: they have been added when the first arrives. A
 * thread leaves sums only where it has read those of the other group. */
template <typename tile>
GM_DEVICE bool warp_tiles_add_blocks(float (&sum)[tile::rows][tile::columns], float *shared)
{
    enum { AT_ONCE = 8 };
    constexpr int quads = tile::rows * tile::columns / 4;
    static_assert(quads * 16 * tile::threads <= tile::shared_bytes, "room for the sums");
    static_assert((int)MATMUL_TILE_CLUSTER == 2, "one block leaves its sums to the other");
    const bool first = blockIdx.y == 0;
    if (!first) {
        warp_tiles_leave<tile>(sum, shared);
    }
    gm_cluster_barrier();
    if (first) {
        const uint32_t from =
            gm_cluster_address((const float4 *)shared + warp_tile_thread<tile>(), 1);
#pragma unroll
        for (int i = 0; i < quads; i += AT_ONCE) {
            float4 more[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                more[k] = gm_cluster_load4(from + (i + k) * tile::threads * sizeof(float4));
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++) {
                warp_tiles_add_quad<tile>(sum, i + k, more[k]);
            }
        }
    }
    gm_cluster_arrive();
    if (!first) {
        gm_cluster_wait();
    }
    return first;
}
#endif

/*
 * Where the factors have changed places, a column of sums is a row of the result. 32 x 32 of the
 * warp's sums at a time go through shared memory, column by column, so that its lanes store
 * neighbours. Fours of rows change places with each four columns: the 4 rows and 8 columns that are
 * left at a time fill the banks, and vectors stay whole.
 */
GM_DEVICE int warp_tiles_turned_at(int column, int row)
{
    return column * WARP_TILES_SIDE + (row ^ column / 4 * 4);
}

/* Stores what was left, one number or four of each lane, of which `down` rows and `across` columns
 * exist. All of a batch are read before the first is stored. */
template <typename numbers>
GM_DEVICE void warp_tiles_write_left(float *to, int64_t stride, int down, int across,
                                     const float *of_warp)
{
    enum { WIDE = sizeof(numbers) / sizeof(float), LANES = WARP_TILES_SIDE / WIDE, BATCH = 4 };
    const int lane = threadIdx.x % 32, row = lane % LANES * WIDE, column = lane / LANES;
    to += column * stride + row;
    across = row < down ? across - column : 0;
#pragma unroll 1
    for (int first = 0; first < across; first += BATCH * WIDE) {
        numbers held[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const int own = column + k * WIDE; /* columns that are a multiple of four apart */
            held[k] = *(const numbers *)(of_warp + first * WARP_TILES_SIDE +
                                         (warp_tiles_turned_at(own, row) ^ first));
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            if (first + k * WIDE < across) {
                sgemm_store_at(to, held[k]);
            }
            to += WIDE * stride;
        }
    }
}

/* The depth of A is contiguous here: see warp.h for who has which row. */
template <int rows, int columns>
GM_DEVICE void warp_tiles_write_turned(const sgemm_args &a, int64_t row, int64_t column,
                                       const float (&sum)[rows][columns], float *of_warp)
{
    static_assert(rows * WARP_LANES_Y == WARP_TILES_SIDE, "a row of the result for each lane");
    const int x = warp_lane_x() * 4, y = warp_lane_y();
    const int down = (int)min(a.a.lines - row, (int64_t)WARP_TILES_SIDE);
#pragma unroll
    for (int j = 0; j < columns; j += 4) {
        __syncwarp();
#pragma unroll
        for (int i = 0; i < rows; i++) {
            float *const to = of_warp + warp_tiles_turned_at(x, y + i * WARP_LANES_Y);
#pragma unroll
            for (int n = 0; n < 4; n++) { /* neighbours have changed places, see banks.h */
                to[n * WARP_TILES_SIDE] = sum[i][j + (n ^ 1)];
            }
        }
        __syncwarp();
        const int across = (int)min(a.b.lines - column, (int64_t)WARP_TILES_SIDE);
        float *const to = a.out + column * a.out_stride + row;
        if (a.out_vectors) {
            warp_tiles_write_left<float4>(to, a.out_stride, down, across, of_warp);
        } else {
            warp_tiles_write_left<float>(to, a.out_stride, down, across, of_warp);
        }
        column += WARP_TILES_SIDE;
    }
}

/* row, column: the warp's first. */
template <typename tile, int way_a, int way_b>
GM_DEVICE void warp_tiles_write(const sgemm_args &a, int64_t row, int64_t column, bool turned,
                                const float (&sum)[tile::rows][tile::columns], float *shared)
{
    constexpr int by_rows = warp_store_room<tile::columns>::floats;
    constexpr bool kept = way_a == BY_STEPS || way_a == BY_DEPTH;
    constexpr bool turns = kept && (way_b == BY_VECTORS || way_b == BY_LINES);
    constexpr int by_columns = WARP_TILES_SIDE * WARP_TILES_SIDE, left = warp_tiles_left<tile>();
    constexpr int each = by_rows > by_columns ? by_rows : by_columns;
    static_assert(left + tile::threads / 32 * each <= tile::groups * tile::stages * tile::floats,
                  "the stages have room for the sums of all warps");
    float *const of_warp = shared + left + warp_tile_thread<tile>() / 32 * each;
    if (turns && turned) {
        warp_tiles_write_turned(a, row, column, sum, of_warp);
    } else {
        warp_store<kept>(a, row, column, sum, of_warp);
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

template <typename tile, int way_a, int way_b>
GM_DEVICE void warp_tiles_product(const matmul_args &a, float *shared)
{
    const unsigned tiles = (unsigned)(a.tiles_x * a.tiles_y); /* fit: see the ladder's hook */
    const unsigned product = blockIdx.x / tiles;
    const int64_t first = blockIdx.y * a.share;
    float4 *own = (float4 *)(shared + tile::groups * tile::stages * tile::floats) + threadIdx.x;
    const warp_tile_place place = warp_tile_find_place<tile>();
    float sum[tile::rows][tile::columns];
    matmul_factor left, right;
    sgemm_args each = {};
    int64_t row, column;

    gm_wait_for_previous();
    gm_let_next_start();
    matmul_go_to(a, product, &left, &right);
    each.a = left;
    each.b = right;
    each.a.data += first * left.depth_stride;
    each.b.data += first * right.depth_stride;
    each.depth = min(a.depth - first, a.share);
    each.alpha = 1;
    each.tiles_x = a.tiles_x;
    each.tiles_y = a.tiles_y;
    each.group = (unsigned)min(a.tiles_y, (int64_t)SGEMM_GROUP);
    sgemm_find_tile(each, blockIdx.x % tiles, tile::height, tile::width, &row, &column);
    *own = make_float4(0, 0, 0, 0);
    warp_begin(sum, own);
    warp_tile_sum<tile, way_a, way_b>(
        sum, shared + warp_tile_group<tile>() * (tile::stages * tile::floats), each, row, column,
        place);
    if (!warp_tiles_add_groups<tile>(sum, shared)) {
        return;
    }
#if GM_HAS_CLUSTERS
    if constexpr (tile::height == MATMUL_CLUSTER_SIDE && tile::width == MATMUL_CLUSTER_SIDE) {
        if (a.cluster > 0 && !warp_tiles_add_blocks<tile>(sum, shared)) {
            return;
        }
    }
#endif
    each.out = a.out + blockIdx.y * a.partial + product * a.a.lines * a.b.lines;
    each.out_stride = a.turned ? a.a.lines : a.b.lines;
    each.out_vectors = a.out_vectors;
    row += place.warp_row;
    column += place.x - warp_lane_x() * 4;
    if (row >= each.a.lines || column >= each.b.lines) {
        return; /* the warp is beyond the edge */
    }
    warp_tiles_write<tile, way_a, way_b>(each, row, column, a.turned, sum, shared);
}

/* By vectors, one by one (1), and vectors of A alone (v1), of A and B as they are in memory (nn),
 * and transposed (t): B whose depth is contiguous is transposed by its copies, one by one. blocks:
 * that should be resident on a multiprocessor; blocks_nn1: of nn1, which waits for more copies. */
#define WAY(name, shape, threads, blocks, way_a, way_b)                                            \
    GM_KERNEL_BOUNDED(matmul_warp_tiles_##name, matmul_args, threads, blocks)                      \
    {                                                                                              \
        GM_DYNAMIC_SHARED(float, shared);                                                          \
        warp_tiles_product<shape, way_a, way_b>(a, shared);                                        \
    }
#define WAYS(name, threads, blocks, blocks_nn1)                                                    \
    WAY(name, shape_##name, threads, blocks, BY_STEPS, BY_VECTORS)                                 \
    WAY(name##_nnv1, shape_##name, threads, blocks, BY_STEPS, BY_LINES)                            \
    WAY(name##_nn1, shape_##name, threads, blocks_nn1, BY_DEPTH, BY_LINES)                         \
    WAY(name##_nt, shape_##name, threads, blocks, BY_STEPS, BY_DEPTH)                              \
    WAY(name##_nt1, shape_##name, threads, blocks, BY_DEPTH, BY_DEPTH)                             \
    WAY(name##_tn, shape_##name, threads, blocks, BY_VECTORS, BY_VECTORS)                          \
    WAY(name##_tnv1, shape_##name, threads, blocks, BY_VECTORS, BY_LINES)                          \
    WAY(name##_tn1, shape_##name, threads, blocks, BY_LINES, BY_LINES)
WAYS(32x32, 64, 8, 8)
WAYS(32x64, 32, 8, 8)
WAYS(64x64, 128, 3, 3)
WAYS(p64x64, 64, 6, 6)
WAYS(q64x64, 128, MATMUL_FOURS, MATMUL_FOURS_MOST)
WAYS(128x128, 128, 2, 2)
