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

/* Fitted to the times of 583 products of all classes by every kernel on an H200, and so that the
 * one it picks is as fast as the fastest: it is within 2 percent of that on average. whole: to 110
 * small stacks. */
static const matmul_pace paces[GM_ROW_COUNT] = {
    [matmul_row_tiles_w32x32] = {32, 32, 16, 32, 8, 2, 8, 68.7, 57.6, 7880, 3900, 0.0568, 0, 256,
                                 1},
    [matmul_row_tiles_32x32] = {32, 32, 16, 32, 1, 2, 8, 67.9, 44.9, 6190, 3710, 0.0736, 4380, 256,
                                512},
    [matmul_row_tiles_16x64] = {16, 64, 16, 64, 1, 2, 8, 64.6, 30.8, 3850, 3510, 0.112, 4930, 256,
                                512},
    [matmul_row_tiles_64x64] = {64, 64, 16, 64, 1, 2, 8, 74.9, 72.5, 8040, 5020, 0.109, 6940, 256,
                                512},
    [matmul_row_tiles_p64x32] = {64, 32, 16, 32, 1, 8, 2, 64.2, 14.5, 5870, 689, 0.0668, 10100, 256,
                                 512},
    [matmul_row_warp_tiles_32x64] = {32, 64, 16, 32, 1, 11, 1, 101, 20.5, 10700, 965, 0.131, 13000,
                                     256, 512},
    [matmul_row_warp_tiles_64x64] = {64, 64, 16, 32, 1, 3, 4, 103, 49.8, 9370, 3500, 0.0864, 9470,
                                     256, 512},
    [matmul_row_warp_tiles_p64x64] = {64, 64, 16, 32, 1, 6, 2, 102, 22, 9650, 973, 0.123, 8590, 256,
                                      512},
    [matmul_row_warp_tiles_128x128] = {128, 128, 16, 64, 1, 2, 4, 113, 62.9, 8760, 8090, 0.13, 4000,
                                       256, 512},
    [matmul_row_tma] = {128, 128, 128, 128, 1, 2, 4, 119, 115, 16700, 6780, 0.00779, 0, 256, 1},
    [matmul_row_narrow_8] = {128, 8, 128, 8, 1, 3, 4, 42.2, 36.3, 10500, 3540, 0.116, 5290, 256,
                             512},
    [matmul_row_narrow_16] = {128, 16, 128, 16, 1, 3, 4, 115, 56.6, 14400, 4330, 0.108, 6510, 256,
                              512},
    [matmul_row_narrow_24] = {128, 24, 128, 24, 1, 3, 4, 75.3, 50.9, 18500, 3150, 0.179, 4000, 256,
                              512},
    [matmul_row_narrow_32] = {128, 32, 128, 32, 1, 2, 4, 79.7, 81.2, 14900, 1870, 0.0812, 12500,
                              256, 512},
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
