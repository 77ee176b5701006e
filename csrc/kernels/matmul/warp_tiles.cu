/*
 * matmul / warp_tiles: the tiles of sgemm's warp_tile, for every product of a stack in one launch.
 *
 * Follows  tiles, whose threads read 12 numbers of a step for 32 products: shared memory takes half
 *          as long again to deliver the numbers as the products take.
 * Idea     8 x 8 or 8 x 16 sums per thread: 16 numbers for 64 products, or 24 for 128. The first
 *          numbers of a stage are read while the last products of the one before are made. There is
 *          no copy engine, so that rows may begin anywhere.
 * Groups   a pair of warps that is a block keeps two of the four schedulers of its multiprocessor
 *          busy. Where tiles are few, two pairs share the depth of one, stage by stage, and the
 *          sums of the second are added to those of the first.
 * Result   where rows begin at an odd place a warp's sums go through shared memory, so that its
 *          lanes store neighbours, in a quarter of the requests: see warp_store.h.
 * Banks    of registers, as in sgemm's warp_tile.
 * Build    nvcc -Xptxas=-O1
 * Machine  LDGSTS, LDS.128, FFMA
 */
#include "matmul.h"

#include "sgemm/warp_tile.h"

/*                height, width, stages, rows and columns of a thread, groups */
typedef warp_tile<32, 64, 4, 8, 8> shape_e32x64;
typedef warp_tile<64, 64, 4, 8, 8, 2> shape_e64x64;
typedef warp_tile<64, 64, 4, 8, 8> shape_ep64x64;
typedef warp_tile<128, 128, 4, 8, 16> shape_e128x128;

#define FITS(name)                                                                                 \
    static_assert(shape_##name::shared_bytes == MATMUL_BYTES_##name, "the ladder says how much")
FITS(e32x64);
FITS(e64x64);
FITS(ep64x64);
FITS(e128x128);

/* Copies go by vectors where they can for both factors: fewer loops to compile. */
template <typename tile>
GM_DEVICE void warp_tiles_sum(float (&sum)[tile::rows][tile::columns], float *shared,
                              const sgemm_args &a, int64_t row, int64_t column,
                              const warp_tile_place &place)
{
    const bool of_a = warp_tile_vectors(a.a, a.depth, row, tile::height);
    const bool of_b = warp_tile_vectors(a.b, a.depth, column, tile::width);
    if (a.a.along_depth && a.b.along_depth) {
        if (of_a) {
            warp_tile_sum<tile, BY_STEPS, BY_DEPTH>(sum, shared, a, row, column, place);
        } else {
            warp_tile_sum<tile, BY_DEPTH, BY_DEPTH>(sum, shared, a, row, column, place);
        }
    } else if (a.a.along_depth) {
        if (of_a && of_b) {
            warp_tile_sum<tile, BY_STEPS, BY_VECTORS>(sum, shared, a, row, column, place);
        } else {
            warp_tile_sum<tile, BY_DEPTH, BY_LINES>(sum, shared, a, row, column, place);
        }
    } else if (a.b.along_depth) {
        warp_tile_sum<tile, BY_LINES, BY_DEPTH>(sum, shared, a, row, column, place);
    } else if (of_a && of_b) {
        warp_tile_sum<tile, BY_VECTORS, BY_VECTORS>(sum, shared, a, row, column, place);
    } else {
        warp_tile_sum<tile, BY_LINES, BY_LINES>(sum, shared, a, row, column, place);
    }
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Floats in which a second group leaves its sums. */
template <typename tile> GM_DEVICE constexpr int warp_tiles_left(void)
{
    static_assert(tile::groups <= 2, "one group leaves its sums to the other");
    return tile::groups > 1 ? tile::rows * tile::columns * tile::threads : 0;
}

/* Adds the sums of a second group to those of the first, which alone goes on: true. */
template <typename tile>
GM_DEVICE bool warp_tiles_add_groups(float (&sum)[tile::rows][tile::columns], float *shared)
{
    __syncthreads(); /* all have read the last stage */
    if constexpr (tile::groups > 1) {
        constexpr int quads = tile::rows * tile::columns / 4;
        float4 *const own = (float4 *)shared + warp_tile_thread<tile>();
        const bool first = warp_tile_group<tile>() == 0;
        if (!first) {
#pragma unroll
            for (int i = 0; i < quads; i++) {
                banks_leave_quad(&sum[i * 4 / tile::columns][i * 4 % tile::columns],
                                 own + i * tile::threads);
            }
        }
        __syncthreads();
        if (!first) {
            return false;
        }
#pragma unroll
        for (int i = 0; i < quads; i++) {
            const float4 more = own[i * tile::threads];
            float *const to = &sum[i * 4 / tile::columns][i * 4 % tile::columns];
            to[0] += more.x, to[1] += more.y, to[2] += more.z, to[3] += more.w;
        }
    }
    return true;
}

template <typename tile, bool kept>
GM_DEVICE void warp_tiles_write(const sgemm_args &a, int64_t row, int64_t column,
                                const float (&sum)[tile::rows][tile::columns], float *shared)
{
    constexpr int of_warp = warp_store_room<tile::columns>::floats, left = warp_tiles_left<tile>();
    static_assert(left + tile::threads / 32 * of_warp <= tile::groups * tile::stages * tile::floats,
                  "the stages have room for the rows of all warps");
    warp_store<kept>(a, row, column, sum, shared + left + warp_tile_thread<tile>() / 32 * of_warp);
}

/* ---- the product ----------------------------------------------------------------------------- */

template <typename tile> GM_DEVICE void warp_tiles_product(const matmul_args &a, float *shared)
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
    warp_tiles_sum<tile>(sum, shared + warp_tile_group<tile>() * (tile::stages * tile::floats),
                         each, row, column, place);
    if (!warp_tiles_add_groups<tile>(sum, shared)) {
        return;
    }
    each.out = a.out + blockIdx.y * a.partial + product * a.a.lines * a.b.lines;
    each.out_stride = a.b.lines;
    each.out_vectors = a.out_vectors;
    row += place.warp_row;
    column += place.x - warp_lane_x() * 4;
    if (each.a.along_depth) {
        warp_tiles_write<tile, true>(each, row, column, sum, shared);
    } else {
        warp_tiles_write<tile, false>(each, row, column, sum, shared);
    }
}

GM_KERNEL_BOUNDED(matmul_warp_tiles_32x64, matmul_args, 32, 8)
{
    GM_DYNAMIC_SHARED(float, shared);
    warp_tiles_product<shape_e32x64>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_warp_tiles_64x64, matmul_args, 128, 3)
{
    GM_DYNAMIC_SHARED(float, shared);
    warp_tiles_product<shape_e64x64>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_warp_tiles_p64x64, matmul_args, 64, 6)
{
    GM_DYNAMIC_SHARED(float, shared);
    warp_tiles_product<shape_ep64x64>(a, shared);
}

GM_KERNEL_BOUNDED(matmul_warp_tiles_128x128, matmul_args, 128, 2)
{
    GM_DYNAMIC_SHARED(float, shared);
    warp_tiles_product<shape_e128x128>(a, shared);
}
