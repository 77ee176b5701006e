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

/* Fitted to the times of 365 products of all classes by every kernel, as single calls on an
 * H200. */
static const matmul_kernel kernels[GM_ROW_COUNT] = {
    [matmul_row_tiles_w32x32] = {{32, 32, 16, 32, 8, 2, 8, 8, 1},
                                 {99.6, 80.1, 11700, 3000, 0.0319, 0.0363, 0.0863, 0, 0.51, 0.319,
                                  0}},
    [matmul_row_tiles_32x32] = {{32, 32, 16, 32, 1, 2, 8, 64, 512},
                                {70, 104, 11800, 1300, 0.0355, 0.0523, 0.143, 0, 1, 0.25, 7550}},
    [matmul_row_tiles_16x64] = {{16, 64, 16, 64, 1, 2, 8, 64, 512},
                                {71.3, 141, 11500, 1400, 0.0525, 0.079, 0.114, 0.258, 0.5, 0.33,
                                 8290}},
    [matmul_row_tiles_64x64] = {{64, 64, 16, 64, 1, 2, 8, 32, 512},
                                {81.1, 125, 12300, 2150, 0.0556, 0.0518, 0.145, 0, 0.394, 0.195,
                                 7310}},
    [matmul_row_tiles_p64x32] = {{64, 32, 16, 32, 1, 8, 2, 8, 512},
                                 {86.1, 23.4, 12200, 570, 0.0411, 0.0591, 0.101, 0.0802, 1, 0.247,
                                  7030}},
    [matmul_row_warp_tiles_32x64] = {{32, 64, 16, 32, 1, 12, 1, 8, 512},
                                     {120, 25.2, 13000, 472, 0.0446, 0.0646, 0.162, 0.291, 1, 0.5,
                                      8250}},
    [matmul_row_warp_tiles_64x64] = {{64, 64, 16, 32, 1, 3, 4, 16, 512},
                                     {106, 102, 13800, 1540, 0.031, 0.0628, 0.159, 0.396, 0.385,
                                      0.422, 6630}},
    [matmul_row_warp_tiles_p64x64] = {{64, 64, 16, 32, 1, 6, 2, 8, 512},
                                      {108, 62.6, 13600, 816, 0.0438, 0.054, 0.0777, 0.212, 0.945,
                                       0.218, 7190}},
    [matmul_row_warp_tiles_128x128] = {{128, 128, 16, 64, 1, 2, 4, 8, 512},
                                       {113, 114, 14000, 3330, 0.041, 0.0488, 0.107, 0.215, 0.355,
                                        0.548, 4230}},
    [matmul_row_tma] = {{128, 128, 128, 128, 1, 2, 4, 32, 1},
                        {111, 174, 12900, 3240, 0, 0, 0.12, 0, 0, 1, 0}},
    [matmul_row_narrow_8] = {{128, 8, 128, 8, 1, 3, 4, 32, 512},
                             {83.4, 41.9, 13700, 3060, 0.062, 0.0692, 0.122, 0.196, 0, 0.4, 6980}},
    [matmul_row_narrow_16] = {{128, 16, 128, 16, 1, 3, 4, 32, 512},
                              {95, 51.2, 13300, 1260, 0.0588, 0.0694, 0.136, 0.216, 0, 0.4, 7580}},
    [matmul_row_narrow_24] = {{128, 24, 128, 24, 1, 3, 4, 32, 512},
                              {102, 62.3, 13400, 2000, 0.0786, 0.129, 0.192, 0.234, 0, 0.282,
                               7580}},
    [matmul_row_narrow_32] = {{128, 32, 128, 32, 1, 2, 4, 32, 512},
                              {88.4, 82.8, 13200, 3520, 0.0841, 0.0723, 0.367, 0.227, 0, 0.398,
                               8070}},
    [matmul_row_whole_16] = {{16, 16, 16, 16, 1, 24, 2, 1, 1},
                             {90.5, 40.3, 11700, 345, 0, 0, 0.119, 0, 0, 0.4, 0}},
    [matmul_row_whole_32] = {{32, 32, 32, 32, 1, 16, 2, 1, 1},
                             {87.4, 38.8, 12600, 354, 0, 0, 0.138, 0, 0, 0.412, 0}},
    [matmul_row_whole_48] = {{48, 48, 48, 48, 1, 12, 2, 1, 1},
                             {163, 41, 12300, 360, 0, 0, 0.855, 0, 0, 0.465, 0}},
};

int matmul_teams(int row)
{
    return kernels[row].shape.teams;
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

/* One by one, unless it copies vectors. */
static matmul_copy copy_of(const matmul_factor *x, bool vectors)
{
    return vectors ? MATMUL_BY_VECTORS : x->along_depth ? MATMUL_BY_STEPS : MATMUL_BY_LINES;
}

static matmul_size measure(int row, const gm_call *call, const matmul_args *args)
{
    matmul_size size = matmul_measure(call, args);
    if (is_of(call, row, matmul_row_narrow)) {
        size.copy_rows = copy_of(&args->a, args->a.vectors);
        size.copy_columns = MATMUL_BY_VECTORS; /* few */
    } else if (is_of(call, row, matmul_row_warp_tiles)) {
        const bool vectors = matmul_has_vectors(args);
        size.copy_rows = copy_of(&args->a, vectors);
        size.copy_columns = copy_of(&args->b, vectors && !args->b.along_depth);
    } else if (is_of(call, row, matmul_row_whole)) {
        size.stores_vectors = false;
    }
    return size;
}

static matmul_kernel kernel_of(int row, const gm_call *call, const matmul_args *args,
                               const matmul_size *size)
{
    matmul_kernel kernel = kernels[row];
    if (is_of(call, row, matmul_row_whole)) {
        matmul_pace_whole(call, args, &kernel);
    }
    if (row == matmul_row_warp_tiles_32x64 && size->copy_rows == MATMUL_BY_STEPS &&
        size->copy_columns == MATMUL_BY_LINES) {
        kernel.shape.blocks =
            8; /* that kernel has 179 registers per thread: two warps per scheduler */
    }
    return kernel;
}

/* Are the factors exchanged? narrow has the matrix first, warp_tiles a factor whose depth is
 * contiguous, and `tiles` more full tiles. */
static bool turns(const gm_call *call, int row, const matmul_args *args)
{
    const int64_t y = kernels[row].shape.height, x = kernels[row].shape.width, m = args->a.lines,
                  n = args->b.lines;
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
    double time;
    if (turns(call, row, args)) {
        matmul_turn(args);
    }
    const matmul_size size = measure(row, call, args);
    const matmul_kernel kernel = kernel_of(row, call, args, &size);
    if (is_of(call, row, matmul_row_narrow)) {
        args->once = matmul_a_is_read_once(args) && gm_evict_first_of_l2(call->device, size.loads);
    }
    args->tiles_x = matmul_divide_up(args->b.lines, kernel.shape.width);
    args->tiles_y = matmul_divide_up(args->a.lines, kernel.shape.height);
    args->share = matmul_best_share(&kernel, &size, UNIT, &time);
    return time;
}
