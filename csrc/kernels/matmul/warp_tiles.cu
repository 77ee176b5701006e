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
 * Result   a warp's sums go through shared memory, so that its lanes store neighbours: else a row
 *          that begins at an odd place is four times as many requests.
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

/* Do warps leave out what of a tile is outside of the matrix? Of 32 x 64 that is little, and with
 * 128 x 128 it would take twice as long to compile all kernels here. */
template <typename tile> GM_DEVICE constexpr bool warp_tiles_leave_out(void)
{
    return tile::height == 64;
}

template <typename tile, int way_a, int way_b>
GM_DEVICE void warp_tiles_sum_part(float (&sum)[tile::rows][tile::columns], float *shared,
                                   const sgemm_args &a, int64_t row, int64_t column,
                                   const warp_tile_place &place, const warp_part &part)
{
    if constexpr (warp_tiles_leave_out<tile>()) {
        warp_of_part<tile>(part, [&](auto inside) {
            warp_tile_sum_inside<tile, way_a, way_b>(sum, shared, a, row, column, place, inside);
        });
    } else {
        warp_tile_sum<tile, way_a, way_b>(sum, shared, a, row, column, place);
    }
}

/* Copies go by vectors where they can for both factors: fewer loops to compile. */
template <typename tile>
GM_DEVICE void warp_tiles_sum(float (&sum)[tile::rows][tile::columns], float *shared,
                              const sgemm_args &a, int64_t row, int64_t column,
                              const warp_tile_place &place, const warp_part &part)
{
    const bool of_a = warp_tile_vectors(a.a, a.depth, row, tile::height);
    const bool of_b = warp_tile_vectors(a.b, a.depth, column, tile::width);
    if (a.a.along_depth && a.b.along_depth) {
        if (of_a) {
            warp_tiles_sum_part<tile, BY_STEPS, BY_DEPTH>(sum, shared, a, row, column, place, part);
        } else {
            warp_tiles_sum_part<tile, BY_DEPTH, BY_DEPTH>(sum, shared, a, row, column, place, part);
        }
    } else if (a.a.along_depth) {
        if (of_a && of_b) {
            warp_tiles_sum_part<tile, BY_STEPS, BY_VECTORS>(sum, shared, a, row, column, place,
                                                            part);
        } else {
            warp_tiles_sum_part<tile, BY_DEPTH, BY_LINES>(sum, shared, a, row, column, place, part);
        }
    } else if (a.b.along_depth) {
        warp_tiles_sum_part<tile, BY_LINES, BY_DEPTH>(sum, shared, a, row, column, place, part);
    } else if (of_a && of_b) {
        warp_tiles_sum_part<tile, BY_VECTORS, BY_VECTORS>(sum, shared, a, row, column, place, part);
    } else {
        warp_tiles_sum_part<tile, BY_LINES, BY_LINES>(sum, shared, a, row, column, place, part);
    }
}

/* ---- the result ------------------------------------------------------------------------------ */

/*
 * A warp writes its sums eight rows at a time, through shared memory of its own, so that its lanes
 * store neighbours, wherever rows begin. 16 floats of padding let four rows of lanes fill the
 * banks.
 */
enum { WARP_TILES_ROWS = 8 };

/* The row in the warp's tile of row `r` of the eight of a pass. */
template <bool kept> GM_DEVICE int warp_tiles_row(int pass, int r)
{
    return kept ? pass * WARP_TILES_ROWS + r : pass / 2 * 16 + r % 4 * 4 + pass % 2 * 2 + r / 4;
}

/* Eight rows of `width` sums from shared memory, whose neighbours have changed places, see banks.h:
 * to the result's row `row` and the others of the pass. All are read before the first is written.
 */
template <bool kept, int width>
GM_DEVICE void warp_tiles_vectors(const sgemm_args &a, int64_t row, int64_t column, int pass,
                                  const float *from)
{
    constexpr int lanes = width / 4, at_once = 32 / lanes, count = WARP_TILES_ROWS / at_once;
    const int down = threadIdx.x % 32 / lanes, along = threadIdx.x % lanes * 4;
    float4 held[count];
#pragma unroll
    for (int i = 0; i < count; i++) {
        held[i] = *(const float4 *)(from + (i * at_once + down) * (width + 16) + along);
    }
#pragma unroll
    for (int i = 0; i < count; i++) {
        const int64_t at = row + warp_tiles_row<kept>(pass, i * at_once + down);
        if (at < a.a.lines && column + along < a.b.lines) {
            *(float4 *)(a.out + at * a.out_stride + column + along) =
                make_float4(held[i].y, held[i].x, held[i].w, held[i].z);
        }
    }
}

/* The same one by one, of four rows at a time. */
template <bool kept, int width>
GM_DEVICE void warp_tiles_singles(const sgemm_args &a, int64_t row, int64_t column, int pass,
                                  const float *from)
{
    constexpr int ROWS = 4, across = width / 32;
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int r = 0; r < WARP_TILES_ROWS; r += ROWS) {
        float held[ROWS][across];
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
#pragma unroll
            for (int j = 0; j < across; j++) {
                held[i][j] = from[(r + i) * (width + 16) + j * 32 + (lane ^ 1)];
            }
        }
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            const int64_t at = row + warp_tiles_row<kept>(pass, r + i);
            float *to = a.out + at * a.out_stride + column + lane;
#pragma unroll
            for (int j = 0; j < across; j++) {
                if (at < a.a.lines && column + lane + j * 32 < a.b.lines) {
                    to[j * 32] = held[i][j];
                }
            }
        }
    }
}

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
                                const float (&sum)[tile::rows][tile::columns], float *shared,
                                int rows)
{
    constexpr int width = tile::warp_columns, pitch = width + 16;
    constexpr int of_rows = WARP_TILES_ROWS * pitch, left = warp_tiles_left<tile>();
    static_assert(left + tile::threads / 32 * of_rows <= tile::groups * tile::stages * tile::floats,
                  "the stages have room for the rows of all warps");
    float *const of_warp = shared + left + warp_tile_thread<tile>() / 32 * of_rows;
    float *const own = of_warp + warp_lane_y() * pitch + warp_lane_x() * 4;
#pragma unroll
    for (int pass = 0; pass < tile::rows / 2; pass++) {
        if (pass * 2 >= rows) {
            break;
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int j = 0; j < tile::columns; j += 4) {
                banks_leave_quad(&sum[pass * 2 + i][j],
                                 (float4 *)(own + i * 4 * pitch + j * WARP_LANES_X));
            }
        }
        __syncwarp();
        if (a.out_vectors) {
            warp_tiles_vectors<kept, width>(a, row, column, pass, of_warp);
        } else {
            warp_tiles_singles<kept, width>(a, row, column, pass, of_warp);
        }
        __syncwarp();
    }
}

/* ---- the product ----------------------------------------------------------------------------- */

template <typename tile> GM_DEVICE void warp_tiles_product(const matmul_args &a, float *shared)
{
    const unsigned tiles = (unsigned)(a.tiles_x * a.tiles_y); /* fit: see the ladder's hook */
    const unsigned product = blockIdx.x / tiles;
    const int64_t first = blockIdx.y * a.share;
    float4 *own = (float4 *)(shared + tile::groups * tile::stages * tile::floats) + threadIdx.x;
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
    warp_part part = {tile::rows, tile::columns};
    if constexpr (warp_tiles_leave_out<tile>()) {
        part = warp_find_part<tile>(each.a.lines - row, each.b.lines - column, each.a.along_depth);
    }
    const warp_tile_place place = warp_tile_find_place<tile>(part);
    *own = make_float4(0, 0, 0, 0);
    warp_begin(sum, own);
    warp_tiles_sum<tile>(sum, shared + warp_tile_group<tile>() * (tile::stages * tile::floats),
                         each, row, column, place, part);
    if (!warp_tiles_add_groups<tile>(sum, shared)) {
        return;
    }
    each.out = a.out + blockIdx.y * a.partial + product * a.a.lines * a.b.lines;
    each.out_stride = a.b.lines;
    each.out_vectors = a.out_vectors;
    row += place.warp_row;
    column += place.x - warp_lane_x() * 4;
    if (each.a.along_depth) {
        warp_tiles_write<tile, true>(each, row, column, sum, shared, part.rows);
    } else {
        warp_tiles_write<tile, false>(each, row, column, sum, shared, part.rows);
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
