/* matmul: the family. The choice for "auto", and the plans of its kernels. */
#include "matmul/matmul.h"

#include <math.h>

#include "backend/backend.h"
#include "l2_policy.h"
#include "matmul/launches.h"
#include "matmul/model.h"
#include "matmul/plan_size.h"
#include "matmul/plan_stack.h"
#include "matmul/plan_thin.h"
#include "matmul/plan_whole.h"
#include "matmul/tma.h"
#include "sgemm/launches.h"

static gm_status takes_grid(const gm_variant *variant, const gm_call *call);
static gm_status takes_tma(const gm_variant *variant, const gm_call *call);
static gm_status takes_runs(const gm_variant *variant, const gm_call *call);
static gm_status takes_warp(const gm_variant *variant, const gm_call *call);
static gm_status takes_thin(const gm_variant *variant, const gm_call *call);
static gm_status takes_narrow(const gm_variant *variant, const gm_call *call);
static gm_status takes_whole(const gm_variant *variant, const gm_call *call);
static gm_status takes_sgemm(const gm_variant *variant, const gm_call *call);
static int pick_tiles(const gm_call *call);
static int pick_warp_tiles(const gm_call *call);
static int pick_thin(const gm_call *call);
static int pick_narrow(const gm_call *call);
static int pick_whole(const gm_call *call);
static gm_status launch_shares(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY matmul
#define GM_LADDER "matmul/ladder.def"
#include "family.h"

enum { A, B };
enum { UNIT = 128 }; /* steps: a multiple of all stages */

/* Fitted to the times of 2,552 products of all classes by every kernel but naive, thin and whole on
 * an H100, and so that the one it picks is as fast as the fastest: fitted to two thirds of them, it
 * is within 1.5 percent on average for the others. On an H200, whole: to 110 small stacks, narrow:
 * to 177 products with up to 32 rows or columns. */
static const matmul_pace paces[variant_count] = {
    [matmul_row_tiles_w32x32] = {32, 32, 8, 2, 8, 89.8, 80.2, 5630, 3480, 0.063, 0, 256, 1},
    [matmul_row_tiles_32x32] = {32, 32, 1, 2, 8, 118, 37.8, 4530, 3660, 0.0889, 6350, 256, 512},
    [matmul_row_tiles_16x64] = {16, 64, 1, 2, 8, 73.7, 36.2, 5550, 3280, 0.0839, 5650, 256, 512},
    [matmul_row_tiles_64x64] = {64, 64, 1, 2, 8, 86.8, 85.1, 7960, 3290, 0.063, 5740, 256, 512},
    [matmul_row_tiles_p64x32] = {64, 32, 1, 8, 2, 83.8, 17.8, 3570, 571, 0.0867, 6820, 256, 512},
    [matmul_row_warp_tiles_32x64] = {32, 64, 1, 11, 1, 79.6, 30.4, 10700, 1120, 0.07, 11100, 256,
                                     512},
    [matmul_row_warp_tiles_64x64] = {64, 64, 1, 3, 4, 108, 55.9, 9350, 2730, 0.0446, 5850, 256,
                                     512},
    [matmul_row_warp_tiles_p64x64] = {64, 64, 1, 6, 2, 107, 55.6, 9900, 1400, 0.0445, 12900, 256,
                                      512},
    [matmul_row_warp_tiles_128x128] = {128, 128, 1, 2, 4, 117, 81.4, 13700, 7360, 0.0471, 5220, 256,
                                       512},
    [matmul_row_tma] = {128, 128, 1, 2, 4, 119, 115, 16700, 6780, 0.00779, 0, 256, 1},
    [matmul_row_narrow_8] = {128, 8, 1, 3, 4, 44, 29, 11000, 3000, 0.079, 6000, 256, 512},
    [matmul_row_narrow_16] = {128, 16, 1, 3, 4, 71, 56, 14000, 5000, 0.12, 5800, 256, 512},
    [matmul_row_narrow_24] = {128, 24, 1, 3, 4, 75, 62, 20000, 3000, 0.09, 7500, 256, 512},
    [matmul_row_narrow_32] = {128, 32, 1, 2, 4, 75, 72, 22000, 9000, 0.13, 4000, 256, 512},
    [matmul_row_whole_16] = {16, 16, 1, 24, 2, 127, 2.6, 2490, 323, 0, 0, 256, 1},
    [matmul_row_whole_32] = {32, 32, 1, 16, 2, 48.5, 14.4, 3700, 590, 0, 0, 256, 1},
    [matmul_row_whole_48] = {48, 48, 1, 12, 2, 37.3, 31.7, 5770, 87, 0, 0, 256, 1},
};

static const int tiles_rows[] = {matmul_row_tiles_w32x32, matmul_row_tiles_16x64,
                                 matmul_row_tiles_32x32, matmul_row_tiles_64x64,
                                 matmul_row_tiles_p64x32};
static const int narrow_rows[] = {matmul_row_narrow_8, matmul_row_narrow_16, matmul_row_narrow_24,
                                  matmul_row_narrow_32};
static const int whole_rows[] = {matmul_row_whole_16, matmul_row_whole_32, matmul_row_whole_48};
static const int warp_tiles_rows[] = {matmul_row_warp_tiles_32x64, matmul_row_warp_tiles_64x64,
                                      matmul_row_warp_tiles_p64x64, matmul_row_warp_tiles_128x128};

static bool is_of(int row, int several)
{
    return variants[row].row == &variants[several];
}

/* Which numbers warp_tiles copies one by one: see there. */
static void measure_copies(const matmul_args *args, matmul_size *size)
{
    const bool deep_a = args->a.along_depth, deep_b = args->b.along_depth;
    const bool of_a = args->a.vectors && (!deep_a || args->depth % 4 == 0);
    const bool both = of_a && args->b.vectors && !deep_b;
    size->single_rows = deep_a && deep_b ? !of_a : !both;
    size->single_columns = !both;
}

static matmul_pace pace_of(int row, const gm_call *call, const matmul_args *args)
{
    matmul_pace pace = paces[row];
    if (is_of(row, matmul_row_whole)) {
        matmul_pace_whole(call, args, &pace);
    }
    return pace;
}

/* warp_tiles has thousands of instructions for each way in which numbers are copied. They come from
 * memory too, once: for some ways many more of them. */
static double time_to_fetch(const matmul_args *args, const matmul_size *size)
{
    static const double cycles[2][2] = {{2000, 8000}, {1000, 2000}};
    return cycles[!size->single_rows][!args->a.along_depth];
}

/* Are the factors exchanged? narrow has the matrix first, and `tiles` more full tiles. */
static bool turns(int row, const matmul_args *args)
{
    const int64_t y = paces[row].height, x = paces[row].width, m = args->a.lines, n = args->b.lines;
    return is_of(row, matmul_row_narrow) ? matmul_thin_is_turned(args)
                                         : is_of(row, matmul_row_tiles) && y != x &&
                                               matmul_divide_up(n, y) * matmul_divide_up(m, x) <
                                                   matmul_divide_up(m, y) * matmul_divide_up(n, x);
}

/* Describes the call for tiles of a size; returns the model's time. */
static double plan_tiles(int row, const gm_call *call, matmul_args *args)
{
    const matmul_pace pace = pace_of(row, call, args);
    double time, fetched = 0;
    if (turns(row, args)) {
        matmul_turn(args);
    }
    matmul_size size = matmul_measure(call, args);
    if (is_of(row, matmul_row_narrow)) {
        size.single_rows = !args->a.vectors;
        size.single_columns = false; /* few */
        args->once = matmul_a_is_read_once(args) && gm_evict_first_of_l2(call->device, size.loads);
    }
    if (is_of(row, matmul_row_warp_tiles)) {
        measure_copies(args, &size);
        fetched = time_to_fetch(args, &size);
    }
    args->tiles_x = matmul_divide_up(args->b.lines, pace.width);
    args->tiles_y = matmul_divide_up(args->a.lines, pace.height);
    args->share = matmul_best_share(&pace, &size, UNIT, &time);
    return time + fetched;
}

/* ---- which variant --------------------------------------------------------------------------- */

static gm_status describe(const gm_call *call, matmul_args *args)
{
    return matmul_describe(call, args);
}

/* A team for each tile, counted in 32 bits. */
static gm_status takes_grid(const gm_variant *variant, const gm_call *call)
{
    matmul_args args;
    gm_status status = describe(call, &args);
    const double x = variant->tile.x, y = variant->tile.y;
    const double tiles = ((double)args.b.lines / x + 1) * ((double)args.a.lines / y + 1);
    if (status != GM_OK || tiles * (double)args.products <= INT32_MAX - 8) {
        return status; /* where they are turned there are even fewer */
    }
    return gm_fail(GM_ERROR_VALUE, "the results have more tiles than variant %s can count",
                   variant->name);
}

static gm_status takes_tma(const gm_variant *variant, const gm_call *call)
{
    matmul_args args;
    gm_status status = takes_grid(variant, call);
    if (status == GM_OK) {
        status = describe(call, &args);
    }
    return status == GM_OK ? matmul_suits_tma(variant, call, &args) : status;
}

static gm_status refuse_layout(const gm_variant *variant)
{
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s needs contiguous rows or columns (variant=\"auto\" takes any "
                   "layout)",
                   variant->name);
}

/* Are the numbers of a line, or of a step, neighbours? */
static bool runs(const matmul_factor *x, int64_t depth)
{
    return x->along_depth ? depth <= 1 || x->depth_stride == 1
                          : x->lines <= 1 || x->line_stride == 1;
}

static gm_status takes_runs(const gm_variant *variant, const gm_call *call)
{
    matmul_args args;
    gm_status status = describe(call, &args);
    if (status != GM_OK || call->out.size == 0 ||
        (runs(&args.a, args.depth) && runs(&args.b, args.depth))) {
        return status;
    }
    return refuse_layout(variant);
}

static gm_status takes_warp(const gm_variant *variant, const gm_call *call)
{
    const gm_status status = takes_grid(variant, call);
    return status == GM_OK ? takes_runs(variant, call) : status;
}

/* A matrix and up to `most` vectors. */
static gm_status takes_vectors(const gm_variant *variant, const matmul_args *args, int64_t most)
{
    if (matmul_thin_sides(args) <= most) {
        return GM_OK;
    }
    return gm_fail(
        GM_ERROR_VALUE, "variant %s takes up to %lld vectors, these are %lld x %lld elements",
        variant->name, (long long)most, (long long)args->a.lines, (long long)args->b.lines);
}

static gm_status takes_thin(const gm_variant *variant, const gm_call *call)
{
    matmul_args args;
    gm_status status = describe(call, &args);
    if (status == GM_OK) {
        status =
            takes_vectors(variant, &args, variant->tile.x > 0 ? variant->tile.x : MATMUL_THIN_MOST);
    }
    const int64_t lines = matmul_thin_is_turned(&args) ? args.b.lines : args.a.lines;
    if (status == GM_OK && (double)lines / 4 * (double)args.products > INT32_MAX / 2) {
        status = gm_fail(GM_ERROR_VALUE, "the results have more lines than variant %s can count",
                         variant->name);
    }
    return status;
}

static gm_status takes_narrow(const gm_variant *variant, const gm_call *call)
{
    const bool any = variant == &variants[matmul_row_narrow];
    const gm_variant *instance = any ? &variants[matmul_row_narrow_32] : variant;
    matmul_args args;
    gm_status status = takes_grid(instance, call);
    if (status == GM_OK) {
        status = describe(call, &args);
    }
    return status == GM_OK ? takes_vectors(variant, &args, instance->tile.x) : status;
}

/* Of the row: what its largest instance takes. */
static gm_status takes_whole(const gm_variant *variant, const gm_call *call)
{
    const bool any = variant == &variants[matmul_row_whole];
    matmul_args args;
    gm_status status = describe(call, &args);
    if (status != GM_OK || call->out.size == 0) {
        return status;
    }
    return matmul_suits_whole(variant->name, any ? &variants[matmul_row_whole_48] : variant, &args);
}

static gm_status takes_sgemm(const gm_variant *variant, const gm_call *call)
{
    matmul_args args;
    gm_status status = describe(call, &args);
    if (status != GM_OK || matmul_suits_sgemm(call, &args)) {
        return status;
    }
    return refuse_layout(variant);
}

/* The row that takes least time, if that is less than *least, which it becomes; else `best`. */
static int better_of(const int *rows, size_t count, const gm_call *call, const matmul_args *args,
                     int best, double *least)
{
    for (size_t i = 0; i < count; i++) {
        matmul_args one = *args;
        const double time = plan_tiles(rows[i], call, &one);
        if (time < *least) {
            best = rows[i];
            *least = time;
        }
    }
    return best;
}

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* The size of tiles that takes least time. */
static int best_tiles(const gm_call *call, const matmul_args *args, double *least)
{
    *least = HUGE_VAL;
    return better_of(tiles_rows, COUNT(tiles_rows), call, args, tiles_rows[0], least);
}

static int best_warp_tiles(const gm_call *call, const matmul_args *args, int best, double *least)
{
    return better_of(warp_tiles_rows, COUNT(warp_tiles_rows), call, args, best, least);
}

/* The smallest instance of whole that takes the factors; the largest if none does. */
static int fitting_whole(const matmul_args *args)
{
    const int64_t most = args->a.lines > args->b.lines ? args->a.lines : args->b.lines;
    size_t i = 0;
    while (i + 1 < COUNT(whole_rows) &&
           (most > variants[whole_rows[i]].tile.x ||
            matmul_whole_bytes(args, (int)variants[whole_rows[i]].tile.x) >
                (int64_t)variants[whole_rows[i]].shared_bytes)) {
        i++;
    }
    return whole_rows[i];
}

/* The smallest instance of narrow for so many vectors; the largest if they are too many. */
static int fitting_narrow(const matmul_args *args)
{
    size_t i = 0;
    while (i + 1 < COUNT(narrow_rows) &&
           matmul_thin_sides(args) > variants[narrow_rows[i]].tile.x) {
        i++;
    }
    return narrow_rows[i];
}

/* Tiles of either kind, or for a stack those that the copy engine brings, where it takes the
 * factors: a single product goes to sgemm, which has that kernel too. */
static int best_row(const gm_call *call, const matmul_args *args, double *least)
{
    int tiles = best_tiles(call, args, least);
    if (runs(&args->a, args->depth) && runs(&args->b, args->depth)) {
        tiles = best_warp_tiles(call, args, tiles, least);
    }
    const int special[] = {fitting_whole(args), fitting_narrow(args)};
    const int count = matmul_thin_sides(args) > MATMUL_THIN_MOST ? 2 : 1; /* else thin is better */
    for (int i = 0; i < count; i++) {
        if (gm_variant_can(gm_row(call, special[i]), call)) {
            tiles = better_of(&special[i], 1, call, args, tiles, least);
        }
    }
    matmul_args one = *args;
    const double first = matmul_tma_bytes_first(args);
    const matmul_size size = matmul_measure(call, args);
    double time = plan_tiles(matmul_row_tma, call, &one);
    time += first > 0 ? MATMUL_LAUNCH + first / (size.memory * size.multiprocessors) : 0;
    if (args->products == 1 || time >= *least ||
        !gm_variant_can(gm_row(call, matmul_row_tma), call)) {
        return tiles;
    }
    *least = time;
    return matmul_row_tma;
}

static int pick_tiles(const gm_call *call)
{
    matmul_args args;
    double least;
    return describe(call, &args) == GM_OK ? best_tiles(call, &args, &least)
                                          : matmul_row_tiles_64x64;
}

static int pick_warp_tiles(const gm_call *call)
{
    matmul_args args;
    double least = HUGE_VAL;
    const int any = matmul_row_warp_tiles_64x64;
    return describe(call, &args) == GM_OK ? best_warp_tiles(call, &args, any, &least) : any;
}

static int pick_thin(const gm_call *call)
{
    matmul_args args;
    const int64_t sides = describe(call, &args) == GM_OK ? matmul_thin_sides(&args) : 1;
    return sides <= 1   ? matmul_row_thin_one
           : sides <= 2 ? matmul_row_thin_two
                        : matmul_row_thin_four;
}

static int pick_narrow(const gm_call *call)
{
    matmul_args args;
    return describe(call, &args) == GM_OK ? fitting_narrow(&args) : matmul_row_narrow_32;
}

static int pick_whole(const gm_call *call)
{
    matmul_args args;
    return describe(call, &args) == GM_OK ? fitting_whole(&args) : matmul_row_whole_48;
}

static const gm_variant *matmul_choose(const gm_call *call)
{
    matmul_args args;
    if (describe(call, &args) != GM_OK) {
        return gm_row(call, matmul_row_naive);
    }
    const matmul_size size = matmul_measure(call, &args);
    double least;
    const int tiles = best_row(call, &args, &least);
    if (matmul_thin_sides(&args) <= MATMUL_THIN_MOST) {
        matmul_args thin = args;
        if (matmul_plan_thin(call, &size, &thin) <= least) {
            return gm_first_that_fits(call, GM_ROWS(pick_thin(call), tiles, matmul_row_naive));
        }
    }
    if (matmul_gains_by_precision(call, &args) ||
        (matmul_suits_sgemm(call, &args) && matmul_time_of_sgemm(&size, &args) < least)) {
        return gm_first_that_fits(call, GM_ROWS(matmul_row_sgemm, tiles, matmul_row_naive));
    }
    return gm_first_that_fits(call, GM_ROWS(tiles, matmul_row_naive));
}

/* ---- plans ----------------------------------------------------------------------------------- */

static gm_status matmul_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    matmul_args *args = (matmul_args *)plan->args;
    gm_status status = describe(call, args);
    const int row = (int)(variant - variants);
    plan->args_size = sizeof *args;
    if (status != GM_OK || call->out.size == 0) {
        return status;
    }
    plan->grid.x = 1;
    if (row == matmul_row_sgemm) {
        return GM_OK;
    }
    if (row == matmul_row_tma) {
        args->tiles_x = matmul_divide_up(args->b.lines, variant->tile.x);
        args->tiles_y = matmul_divide_up(args->a.lines, variant->tile.y);
        plan->grid.x = (unsigned)(args->tiles_x * args->tiles_y * args->products);
        return GM_OK;
    }
    if (row == matmul_row_naive) {
        plan->grid.x = gm_grid_blocks(variant, call, call->out.size, 0);
        return GM_OK;
    }
    if (variant->row == &variants[matmul_row_whole]) {
        matmul_plan_whole(call, args);
        plan->shared_bytes = (size_t)matmul_whole_bytes(args, (int)variant->tile.x);
        plan->grid.x = (unsigned)args->products;
        return GM_OK;
    }
    int64_t teams = 1;
    if (variant->row == &variants[matmul_row_thin]) {
        const matmul_size size = matmul_measure(call, args);
        (void)matmul_plan_thin(call, &size, args);
    } else {
        teams = paces[row].teams;
        (void)plan_tiles(row, call, args);
    }
    const int64_t tiles = args->tiles_x * args->tiles_y * args->products;
    plan->grid.x = (unsigned)matmul_divide_up(tiles, teams);
    if (args->cluster > 0) {
        plan->grid.y = (unsigned)args->cluster;
        plan->cluster = (gm_dim){1, plan->grid.y, 1};
    } else if (args->depth > args->share) {
        plan->grid.y = (unsigned)matmul_divide_up(args->depth, args->share);
    }
    return GM_OK;
}

static gm_status launch_shares(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    return matmul_launch_shares(variant, &helper_add_shares, call, plan);
}

/* Rows or columns are contiguous, in a stack with any distances. */
static bool suits_factor(const gm_array *x)
{
    const int last = x->ndim - 1;
    bool lines = x->contiguous || x->ndim < 2;
    for (int d = last; !lines && d > last - 2; d--) {
        lines = x->shape[d] > 1 && x->strides[d] == x->itemsize;
    }
    return lines && gm_elements_aligned(x);
}

static const gm_operand inputs[] = {
#define FLOAT32 .kinds = "f", .itemsizes = 1 << 4, .dtypes = "float32"
    [A] = {.name = "a", FLOAT32, .reread = true, .suits = suits_factor},
    [B] = {.name = "b", FLOAT32, .reread = true, .suits = suits_factor},
};

static const gm_parameter parameters[] = {
    [MATMUL_PRECISION] = {.name = "precision", .least = 0, .most = 1},
};

const gm_family gm_family_matmul = {
    .name = "matmul",
    .doc = "a @ b with NumPy's shapes: small, thin, deep and stacked products",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 2,
    .parameters = parameters,
    .parameter_count = 1,
    .result = matmul_result,
    .choose = matmul_choose,
    .keeps_choice = true,
    .split = matmul_split,
    .least_piece = 1024,
    .plan = matmul_plan,
};
