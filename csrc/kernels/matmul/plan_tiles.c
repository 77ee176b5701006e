/* matmul: the plan of kernels that compute tiles: their model, the shares of the depth, and which
 * factor is first. */
#include "matmul/plan_tiles.h"

#include "l2_policy.h"
#include "matmul/plan_thin.h"
#include "matmul/plan_whole.h"

#define GM_FAMILY matmul
#define GM_LADDER "matmul/ladder.def"
#include "rows.h"

enum { UNIT = 128 }; /* steps: a multiple of all stages */

/* Fitted to the times of 391 products of all classes by every kernel on an H200, and so that the
 * one it picks is as fast as the fastest: it is within 1.3 percent of that on average. On another
 * day, whole: to 110 small stacks, and narrow with up to 16 vectors: to 177 products. */
static const matmul_pace paces[GM_ROW_COUNT] = {
    [matmul_row_tiles_w32x32] = {32, 32, 16, 32, 8, 2, 8, 69.7, 54.9, 7710, 4490, 0.0433, 0, 256,
                                 1},
    [matmul_row_tiles_32x32] = {32, 32, 16, 32, 1, 2, 8, 60.4, 28.8, 6620, 2250, 0.0372, 4540, 256,
                                512},
    [matmul_row_tiles_16x64] = {16, 64, 16, 64, 1, 2, 8, 59.8, 40.2, 4180, 3690, 0.0823, 6150, 256,
                                512},
    [matmul_row_tiles_64x64] = {64, 64, 16, 64, 1, 2, 8, 74.9, 63.8, 6820, 4380, 0.105, 6560, 256,
                                512},
    [matmul_row_tiles_p64x32] = {64, 32, 16, 32, 1, 8, 2, 64.6, 18.5, 7130, 842, 0.0907, 10100, 256,
                                 512},
    [matmul_row_warp_tiles_32x64] = {32, 64, 16, 32, 1, 11, 1, 92.5, 21.6, 10700, 714, 0.104, 13000,
                                     256, 512},
    [matmul_row_warp_tiles_64x64] = {64, 64, 16, 32, 1, 3, 4, 99, 55.5, 8190, 3450, 0.0671, 8340,
                                     256, 512},
    [matmul_row_warp_tiles_p64x64] = {64, 64, 16, 32, 1, 6, 2, 102, 20.8, 8730, 849, 0.114, 4430,
                                      256, 512},
    [matmul_row_warp_tiles_128x128] = {128, 128, 16, 64, 1, 2, 4, 111, 61.6, 8290, 7880, 0.121,
                                       4000, 256, 512},
    [matmul_row_tma] = {128, 128, 128, 128, 1, 2, 4, 119, 115, 16700, 6780, 0.00779, 0, 256, 1},
    [matmul_row_narrow_8] = {128, 8, 128, 8, 1, 3, 4, 44, 29, 11000, 3000, 0.079, 6000, 256, 512},
    [matmul_row_narrow_16] = {128, 16, 128, 16, 1, 3, 4, 71, 56, 14000, 5000, 0.12, 5800, 256, 512},
    [matmul_row_narrow_24] = {128, 24, 128, 24, 1, 3, 4, 78.5, 79.4, 16200, 3180, 0.163, 4000, 256,
                              512},
    [matmul_row_narrow_32] = {128, 32, 128, 32, 1, 2, 4, 62.1, 55.5, 12100, 5130, 0.116, 5860, 256,
                              512},
    [matmul_row_whole_16] = {16, 16, 16, 16, 1, 24, 2, 127, 2.6, 2490, 323, 0, 0, 256, 1},
    [matmul_row_whole_32] = {32, 32, 32, 32, 1, 16, 2, 48.5, 14.4, 3700, 590, 0, 0, 256, 1},
    [matmul_row_whole_48] = {48, 48, 48, 48, 1, 12, 2, 37.3, 31.7, 5770, 87, 0, 0, 256, 1},
};

int matmul_teams(int row)
{
    return paces[row].teams;
}

static bool is_of(const gm_call *call, int row, int several)
{
    return gm_row(call, row)->row == gm_row(call, several);
}

/* Whole vectors only: memory checkers see all 16 bytes of a vector read. */
static bool takes_vectors_of(const matmul_factor *x, int64_t depth)
{
    return x->vectors && (x->along_depth ? depth : x->lines) % 4 == 0;
}

bool matmul_has_vectors(const matmul_args *args)
{
    return takes_vectors_of(&args->a, args->depth) &&
           (args->b.along_depth || takes_vectors_of(&args->b, args->depth));
}

/* The numbers that warp_tiles copies one by one. */
static void measure_copies(const matmul_args *args, matmul_size *size)
{
    size->single_rows = !matmul_has_vectors(args);
    size->single_columns = size->single_rows || args->b.along_depth;
}

static matmul_pace pace_of(int row, const gm_call *call, const matmul_args *args)
{
    matmul_pace pace = paces[row];
    if (is_of(call, row, matmul_row_whole)) {
        matmul_pace_whole(call, args, &pace);
    }
    return pace;
}

/* Are the factors exchanged? narrow has the matrix first, warp_tiles a factor whose depth is
 * contiguous, and `tiles` more full tiles. */
static bool turns(const gm_call *call, int row, const matmul_args *args)
{
    const int64_t y = paces[row].height, x = paces[row].width, m = args->a.lines, n = args->b.lines;
    if (is_of(call, row, matmul_row_narrow)) {
        return matmul_thin_is_turned(args);
    }
    if (is_of(call, row, matmul_row_warp_tiles)) {
        return args->b.along_depth && !args->a.along_depth;
    }
    return is_of(call, row, matmul_row_tiles) && y != x &&
           matmul_divide_up(n, y) * matmul_divide_up(m, x) <
               matmul_divide_up(m, y) * matmul_divide_up(n, x);
}

double matmul_plan_tiles(int row, const gm_call *call, matmul_args *args)
{
    const matmul_pace pace = pace_of(row, call, args);
    double time;
    if (turns(call, row, args)) {
        matmul_turn(args);
    }
    matmul_size size = matmul_measure(call, args);
    if (is_of(call, row, matmul_row_narrow)) {
        size.single_rows = !args->a.vectors;
        size.single_columns = false; /* few */
        args->once = matmul_a_is_read_once(args) && gm_evict_first_of_l2(call->device, size.loads);
    }
    if (is_of(call, row, matmul_row_warp_tiles)) {
        measure_copies(args, &size);
    }
    args->tiles_x = matmul_divide_up(args->b.lines, pace.width);
    args->tiles_y = matmul_divide_up(args->a.lines, pace.height);
    args->share = matmul_best_share(&pace, &size, UNIT, &time);
    return time;
}
