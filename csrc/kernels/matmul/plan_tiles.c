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

/* Fitted to the times of single calls on an H200. tiles, narrow: of 365 products of all classes by
 * every kernel, and of 450 by two choices each. The former are 3700 cycles longer, and 1500 more
 * where shares are added: between calls of so many kernels, instructions are no longer in the
 * caches. whole: of 300 stacks of small matrices by every kernel. warp_tiles, tma, and narrow from
 * 24 vectors on: of 921 products by every kernel. A stage of narrow has 32 steps, but its warps
 * leave out the last one's by eights. */
static const matmul_kernel kernels[GM_ROW_COUNT] = {
    [matmul_row_tiles_w32x32] = {{32, 32, 16, 32, 8, 2, 8, 8, 1},
                                 {100, 82.1, 8460, 2510, 0.0362, 0.0382, 0.143, 0, 0, 0.284, 0}},
    [matmul_row_tiles_32x32] = {{32, 32, 16, 32, 1, 2, 8, 64, 512},
                                {69.8, 87.7, 8280, 1310, 0.0337, 0.0491, 0.251, 0, 0, 0.272, 4720}},
    [matmul_row_tiles_16x64] = {{16, 64, 16, 64, 1, 2, 8, 64, 512},
                                {71.6, 125, 7990, 1400, 0.0547, 0.0772, 0.165, 0.593, 0, 0.35,
                                 5520}},
    [matmul_row_tiles_64x64] = {{64, 64, 16, 64, 1, 2, 8, 32, 512},
                                {82.9, 123, 8970, 1950, 0.0549, 0.0551, 0.261, 0, 0.309, 0.194,
                                 4600}},
    [matmul_row_tiles_p64x32] = {{64, 32, 16, 32, 1, 8, 2, 8, 512},
                                 {86.7, 24.1, 9300, 450, 0.0423, 0.0608, 0.141, 0.0939, 0.685,
                                  0.292, 4450}},
    [matmul_row_warp_tiles_32x32] = {{32, 32, 16, 32, 1, 8, 2, 16, 512},
                                     {107, 46.4, 10300, 480, 0.0462, 0.0697, 0.825, 0.366, 0.0383,
                                      0.213, 6530}},
    [matmul_row_warp_tiles_32x64] = {{32, 64, 16, 32, 1, 12, 1, 8, 512},
                                     {121, 39.3, 10500, 369, 0.0365, 0.0691, 0.244, 0.149, 0, 0.362,
                                      6690}},
    [matmul_row_warp_tiles_64x64] = {{64, 64, 16, 32, 1, 3, 4, 16, 512},
                                     {107, 135, 10800, 1410, 0.032, 0.0509, 0.367, 0.504, 0.121,
                                      0.337, 5540}},
    [matmul_row_warp_tiles_p64x64] = {{64, 64, 16, 32, 1, 6, 2, 8, 512},
                                      {109, 83.2, 10400, 675, 0.0313, 0.0581, 0.189, 0.17, 0.782,
                                       0.275, 5750}},
    [matmul_row_warp_tiles_128x128] = {{128, 128, 16, 64, 1, 2, 4, 8, 512},
                                       {113, 140, 12300, 2900, 0.00582, 0.0423, 0.21, 0.173, 0.29,
                                        0.94, 1090}},
    [matmul_row_tma] = {{128, 128, 128, 128, 1, 2, 4, 32, 1},
                        {110, 197, 10300, 2230, 0, 0.0137, 0.223, 0, 0, 1, 0}},
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
                             {30.9, 31.4, 9280, 188, 0, 0, 0.00248, 0, 0, 0.025, 0}},
    [matmul_row_whole_32] = {{32, 32, 32, 32, 1, 16, 2, 1, 1},
                             {53.1, 156, 9640, 164, 0, 0, 0.277, 0, 0, 0.215, 0}},
    [matmul_row_whole_48] = {{48, 48, 48, 48, 1, 10, 2, 1, 1},
                             {58.7, 200, 9570, 200, 0, 0, 0.288, 0, 0, 0.00247, 0}},
    [matmul_row_whole_32x96] = {{32, 96, 32, 96, 1, 6, 4, 1, 1},
                                {62, 82.9, 9260, 448, 0, 0, 0.241, 0, 0, 0.123, 0}},
    [matmul_row_whole_96x32] = {{96, 32, 96, 32, 1, 6, 4, 1, 1},
                                {50.5, 69.3, 9650, 311, 0, 0, 0.226, 0, 0, 0.00247, 0}},
    [matmul_row_whole_80x80] = {{80, 80, 80, 80, 1, 4, 4, 1, 1},
                                {68.5, 123, 9480, 631, 0, 0, 0.238, 0, 0, 0.125, 0}},
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

static matmul_kernel kernel_of(int row, const gm_call *call, const matmul_args *args)
{
    matmul_kernel kernel = kernels[row];
    if (is_of(call, row, matmul_row_whole)) {
        matmul_pace_whole(call, args, gm_row(call, row), &kernel);
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
