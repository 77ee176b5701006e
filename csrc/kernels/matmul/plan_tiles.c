/* matmul: the plan of kernels that compute tiles: their model, the shares of the depth, and which
 * factor is first. */
#include "matmul/plan_tiles.h"

#include "l2_policy.h"
#include "matmul/plan_thin.h"
#include "matmul/plan_whole.h"

#define GM_FAMILY matmul
#define GM_LADDER "matmul/ladder.def"
#include "rows.h"

enum { UNIT = 16 }; /* the fewest steps by which shares differ: a multiple of a vector */

/* Fitted together to the times of single calls on an H200: 1,020 stacks and 620 single products of
 * all classes by every kernel that was not far behind the fastest; narrow: of 365 and, from 24
 * vectors on, 921 products. Between calls of so many kernels instructions are no longer in the
 * caches. A stage of narrow has 32 steps, but its warps leave out the last one's by eights. */
static const matmul_kernel kernels[GM_ROW_COUNT] = {
    [matmul_row_tiles_w32x32] = {{32, 32, 16, 32, 8, 2, 8, 8, 1},
                                 {94.5, 79.1, 8710, 1430, 0.0355, 0.0423, 0.149, 0, 0, 0.252, 0}},
    [matmul_row_tiles_32x32] = {{32, 32, 16, 32, 1, 2, 8, 64, 512},
                                {72.5, 69.7, 8250, 1390, 0.0465, 0.056, 0, 0.676, 0.999, 0.103,
                                 5140}},
    [matmul_row_tiles_16x64] = {{16, 64, 16, 64, 1, 2, 8, 64, 512},
                                {72.4, 65.7, 8060, 1420, 0.0406, 0.0723, 0, 0.436, 0, 0.352, 5580}},
    [matmul_row_tiles_64x64] = {{64, 64, 16, 64, 1, 2, 8, 32, 512},
                                {83.4, 101, 8630, 2070, 0.0602, 0.0574, 0.00364, 1.5, 0.415, 0.128,
                                 5790}},
    [matmul_row_tiles_p64x32] = {{64, 32, 16, 32, 1, 8, 2, 8, 512},
                                 {82.4, 22.9, 9230, 235, 0.0413, 0.0621, 0.165, 0.00729, 1, 0.324,
                                  4360}},
    [matmul_row_warp_tiles_32x32] = {{32, 32, 16, 32, 1, 8, 2, 16, 512},
                                     {103, 38, 9640, 552, 0.034, 0.0671, 0.401, 0.085, 1, 0.257,
                                      5260}},
    [matmul_row_warp_tiles_32x64] = {{32, 64, 16, 32, 1, 12, 1, 8, 512},
                                     {114, 36.2, 10600, 299, 0.0278, 0.0659, 0.341, 0.0583, 0.991,
                                      0.541, 5470}},
    [matmul_row_warp_tiles_64x64] = {{64, 64, 16, 32, 1, 3, 4, 16, 512},
                                     {107, 133, 10500, 1460, 0.0232, 0.0554, 0.368, 0.0674, 0.127,
                                      0.392, 5420}},
    [matmul_row_warp_tiles_p64x64] = {{64, 64, 16, 32, 1, 6, 2, 8, 512},
                                      {108, 70.8, 10100, 639, 0.0277, 0.0554, 0.289, 0.0352, 0.824,
                                       0.32, 5570}},
    [matmul_row_warp_tiles_q64x64] = {{64, 64, 16, 32, 1, 4, 4, 16, 512},
                                      {92.7, 95.4, 10200, 621, 0.0212, 0.0652, 0.146, 0.0212, 0.191,
                                       0, 6910}},
    [matmul_row_warp_tiles_128x128] = {{128, 128, 16, 64, 1, 2, 4, 8, 512},
                                       {110, 154, 10300, 2660, 0.0195, 0.0633, 0.178, 0.045, 0.255,
                                        0.772, 3950}},
    [matmul_row_tma] = {{128, 128, 128, 128, 1, 2, 4, 32, 1},
                        {108, 200, 11600, 2280, 0, 0.0205, 0.246, 0, 0, 1, 0}},
    [matmul_row_narrow_8] = {{128, 8, 128, 8, 1, 3, 4, 8, 512},
                             {70.6, 39.6, 10700, 1540, 0.0603, 0.07, 0.123, 0.195, 0, 0.457, 4500}},
    [matmul_row_narrow_16] = {{128, 16, 128, 16, 1, 3, 4, 8, 512},
                              {97.8, 47, 9950, 1180, 0.111, 0.108, 0.127, 0.204, 0, 0.4, 4550}},
    [matmul_row_narrow_24] = {{128, 24, 128, 24, 1, 3, 4, 8, 512},
                              {102, 75.7, 11300, 1650, 0.121, 0.142, 0.906, 0.25, 0, 0.212, 4620}},
    [matmul_row_narrow_32] = {{128, 32, 128, 32, 1, 2, 4, 8, 512},
                              {105, 62.8, 11200, 2770, 0.158, 0.0815, 0.608, 0.0954, 0, 0.877,
                               2920}},
    [matmul_row_whole_16] = {{16, 16, 16, 16, 1, 20, 2, 1, 1},
                             {26.4, 400, 9650, 156, 0, 0, 0, 0, 0, 0, 0}},
    [matmul_row_whole_32] = {{32, 32, 32, 32, 1, 16, 2, 1, 1},
                             {49.8, 400, 10100, 179, 0, 0, 0.232, 0, 0, 0.107, 0}},
    [matmul_row_whole_48] = {{48, 48, 48, 48, 1, 10, 2, 1, 1},
                             {57.6, 93.7, 9870, 280, 0, 0, 0.219, 0, 0, 0.169, 0}},
    [matmul_row_whole_32x96] = {{32, 96, 32, 96, 1, 6, 4, 1, 1},
                                {59.8, 95.6, 9590, 566, 0, 0, 0.195, 0, 0, 0.0762, 0}},
    [matmul_row_whole_96x32] = {{96, 32, 96, 32, 1, 6, 4, 1, 1},
                                {49, 64.6, 9890, 459, 0, 0, 0.171, 0, 0, 0.0301, 0}},
    [matmul_row_whole_80x80] = {{80, 80, 80, 80, 1, 4, 4, 1, 1},
                                {63.7, 165, 9850, 562, 0, 0, 0.237, 0, 0, 0.283, 0}},
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

matmul_vectors matmul_vectors_of(const matmul_args *args)
{
    return !takes_vectors_of(&args->a, args->depth) ? MATMUL_NO_VECTORS
           : args->b.along_depth || !takes_vectors_of(&args->b, args->depth)
               ? MATMUL_VECTORS_OF_A
               : MATMUL_VECTORS_OF_BOTH;
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
    } else if (row == matmul_row_tma) {
        /* What it transposes on chip costs as if it were copied step by step. */
        const bool along = args->b.along_depth;
        size.copy_rows = along && args->a.along_depth ? MATMUL_BY_STEPS : MATMUL_BY_VECTORS;
        size.copy_columns = along ? MATMUL_BY_STEPS : MATMUL_BY_VECTORS;
    } else if (is_of(call, row, matmul_row_warp_tiles)) {
        const matmul_vectors vectors = matmul_vectors_of(args);
        size.copy_rows = copy_of(&args->a, vectors != MATMUL_NO_VECTORS);
        size.copy_columns = copy_of(&args->b, vectors == MATMUL_VECTORS_OF_BOTH);
    } else if (is_of(call, row, matmul_row_whole)) {
        size.stores_vectors = false;
    }
    return size;
}

/* Those of two blocks gained 1 to 6 us per call on an H200. Larger ones mostly lost, up to 20 us:
 * the groups of multiprocessors have no whole number of them, and some wait for others. Of tiles of
 * 32 x 64, which are twelve to a multiprocessor, some pairs lost as much. */
static bool has_clusters(const matmul_shape *shape)
{
    return shape->height == MATMUL_CLUSTER_SIDE && shape->width == MATMUL_CLUSTER_SIDE;
}

/* Of q64x64, five: where the columns of a are contiguous, as those kernels need fewer registers,
 * and by the one that copies rows of both factors one by one, which is compiled for five. */
static int blocks_of_fours(const matmul_args *args)
{
    const bool has_none = matmul_vectors_of(args) == MATMUL_NO_VECTORS && !args->b.along_depth;
    return !args->a.along_depth || has_none ? MATMUL_FOURS_MOST : MATMUL_FOURS;
}

static matmul_kernel kernel_of(int row, const gm_call *call, const matmul_args *args)
{
    matmul_kernel kernel = kernels[row];
    if (is_of(call, row, matmul_row_whole)) {
        matmul_pace_whole(call, args, gm_row(call, row), &kernel);
    }
    if (row == matmul_row_warp_tiles_q64x64) {
        kernel.shape.blocks = blocks_of_fours(args);
    }
    if (is_of(call, row, matmul_row_warp_tiles) && has_clusters(&kernel.shape) &&
        call->device->cluster_blocks >= MATMUL_TILE_CLUSTER) {
        kernel.shape.cluster = MATMUL_TILE_CLUSTER;
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

/* By how much longer tiles of warps take for few lines on one side of a single product: a block has
 * few bytes on their way at a time, and blocks that share the depth have more of them. By 280
 * products on an H200. */
static double longer_for_few_lines(int row, const matmul_args *args, int64_t shares)
{
    enum { FEW = 8, SOME = 16 };
    static const double SHARED = 0.4;
    static const struct {
        int row;
        double few, some;
    } LONGER[] = {
        {matmul_row_warp_tiles_32x32, 0.3, 0.15},
        {matmul_row_warp_tiles_32x64, 0.2, 0.12},
        {matmul_row_warp_tiles_64x64, 0.15, 0.08},
    };
    const int64_t lines = matmul_thin_sides(args);
    for (size_t i = 0; args->products == 1 && i < sizeof LONGER / sizeof *LONGER; i++) {
        if (LONGER[i].row == row && lines <= SOME) {
            return (lines <= FEW ? LONGER[i].few : LONGER[i].some) * (shares > 1 ? SHARED : 1);
        }
    }
    return 0;
}

double matmul_plan_tiles(int row, const gm_call *call, matmul_args *args)
{
    double time;
    if (turns(call, row, args)) {
        matmul_turn(args);
    }
    const matmul_size size = measure(row, call, args);
    const matmul_kernel kernel = kernel_of(row, call, args);
    if (is_of(call, row, matmul_row_narrow)) {
        args->once = matmul_a_is_read_once(args) && gm_evict_first_of_l2(call->device, size.loads);
    }
    args->tiles_x = matmul_divide_up(args->b.lines, kernel.shape.width);
    args->tiles_y = matmul_divide_up(args->a.lines, kernel.shape.height);
    const int unit = kernel.shape.stage > UNIT ? kernel.shape.stage : UNIT;
    args->share = matmul_best_share(&kernel, &size, unit, &time);
    const int64_t shares = args->depth > 0 ? matmul_divide_up(args->depth, args->share) : 1;
    args->cluster = shares > 1 && shares <= kernel.shape.cluster ? (int)shares : 0;
    return time * (1 + longer_for_few_lines(row, args, shares));
}
