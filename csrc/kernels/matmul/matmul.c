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
#include "matmul/plan_tiles.h"
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
static gm_status launch_warp_tiles(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_thin(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_narrow(const gm_variant *variant, const gm_call *call, gm_plan *plan);
static gm_status launch_tma(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY matmul
#define GM_LADDER "matmul/ladder.def"
#include "family.h"

enum { A, B };

static const int tiles_rows[] = {matmul_row_tiles_w32x32, matmul_row_tiles_16x64,
                                 matmul_row_tiles_32x32, matmul_row_tiles_64x64,
                                 matmul_row_tiles_p64x32};
static const int narrow_rows[] = {matmul_row_narrow_8, matmul_row_narrow_16, matmul_row_narrow_24,
                                  matmul_row_narrow_32};
static const int whole_rows[] = {matmul_row_whole_16,    matmul_row_whole_32,
                                 matmul_row_whole_48,    matmul_row_whole_32x96,
                                 matmul_row_whole_96x32, matmul_row_whole_80x80};
static const int warp_tiles_rows[] = {matmul_row_warp_tiles_32x32,  matmul_row_warp_tiles_32x64,
                                      matmul_row_warp_tiles_64x64,  matmul_row_warp_tiles_p64x64,
                                      matmul_row_warp_tiles_q64x64, matmul_row_warp_tiles_128x128};

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

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

/* Of the row: what any of its instances takes; if none does, why the largest does not. */
static gm_status takes_whole(const gm_variant *variant, const gm_call *call)
{
    matmul_args args;
    gm_status status = describe(call, &args);
    if (status != GM_OK || call->out.size == 0) {
        return status;
    }
    if (variant != &variants[matmul_row_whole]) {
        return matmul_suits_whole(variant->name, variant, &args);
    }
    status = GM_ERROR_VALUE;
    for (size_t i = 0; i < COUNT(whole_rows) && status != GM_OK; i++) {
        status = matmul_suits_whole(variant->name, &variants[whole_rows[i]], &args);
    }
    return status;
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
        const double time = matmul_plan_tiles(rows[i], call, &one);
        if (time < *least) {
            best = rows[i];
            *least = time;
        }
    }
    return best;
}

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

/* The instance of whole that takes least time of those that take the factors, if that is less than
 * *least, which it becomes; else `best`. */
static int best_whole(const gm_call *call, const matmul_args *args, int best, double *least)
{
    for (size_t i = 0; i < COUNT(whole_rows); i++) {
        if (gm_variant_can(gm_row(call, whole_rows[i]), call)) {
            best = better_of(&whole_rows[i], 1, call, args, best, least);
        }
    }
    return best;
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
    tiles = best_whole(call, args, tiles, least);
    const int narrow = fitting_narrow(args);
    if (matmul_thin_sides(args) > MATMUL_THIN_MOST && /* else thin is better */
        gm_variant_can(gm_row(call, narrow), call)) {
        tiles = better_of(&narrow, 1, call, args, tiles, least);
    }
    matmul_args one = *args;
    const double time = matmul_plan_tiles(matmul_row_tma, call, &one);
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
    double least = HUGE_VAL;
    const int any = matmul_row_whole_80x80;
    return describe(call, &args) == GM_OK ? best_whole(call, &args, any, &least) : any;
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
    /* Of one large product the estimate of sgemm's kernels is up to 3 percent too long, by which
     * tiles of the same size would be taken that are slower. */
    static const double ALIKE = 1.02;
    const bool alike = args.products == 1 && tiles == matmul_row_warp_tiles_128x128;
    if (matmul_gains_by_precision(call, &args) ||
        (matmul_suits_sgemm(call, &args) &&
         matmul_time_of_sgemm(&size, &args) < (alike ? ALIKE : 1) * least)) {
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
        matmul_plan_whole(variant, call, args);
        plan->shared_bytes = (size_t)matmul_whole_bytes(args, variant);
        plan->grid.x = (unsigned)args->products;
        plan->grid.y = (unsigned)(args->tiles_x * args->tiles_y);
        return GM_OK;
    }
    int64_t teams = 1;
    if (variant->row == &variants[matmul_row_thin]) {
        const matmul_size size = matmul_measure(call, args);
        (void)matmul_plan_thin(call, &size, args);
    } else {
        teams = matmul_teams(row);
        (void)matmul_plan_tiles(row, call, args);
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

/* By the layouts and vectors of a and b, see the ladder: the instance itself, or a part. */
#define WAYS(size)                                                                                 \
    {                                                                                              \
        {&part_warp_tiles_##size##_nn1, &part_warp_tiles_##size##_nnv1,                            \
         &variants[matmul_row_warp_tiles_##size]},                                                 \
            {&part_warp_tiles_##size##_nt1, &part_warp_tiles_##size##_nt},                         \
            {&part_warp_tiles_##size##_tn1, &part_warp_tiles_##size##_tnv1,                        \
             &part_warp_tiles_##size##_tn},                                                        \
    }

static gm_status launch_warp_tiles(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    enum { NN, NT, TN };
    static const gm_variant *const ways[][3][3] = {WAYS(32x32),  WAYS(32x64),  WAYS(64x64),
                                                   WAYS(p64x64), WAYS(q64x64), WAYS(128x128)};
    const matmul_args *args = (const matmul_args *)plan->args;
    const int layout = !args->a.along_depth ? TN : args->b.along_depth ? NT : NN;
    const int size = (int)(variant - &variants[matmul_row_warp_tiles_32x32]);
    return launch_shares(ways[size][layout][matmul_vectors_of(args)], call, plan);
}

#define THIN(which)                                                                                \
    {                                                                                              \
        {&variants[matmul_row_thin_##which], &part_thin_##which##_once},                           \
            {&part_thin_##which##_spread, &part_thin_##which##_spread_once},                       \
            {&part_thin_##which##_lines, &part_thin_##which##_lines_once},                         \
    }

static gm_status launch_thin(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    enum { DEPTH_RUNS, DEPTH_SPREAD, LINES_RUN };
    static const gm_variant *const ways[][3][2] = {THIN(one), THIN(two), THIN(four)};
    const matmul_args *args = (const matmul_args *)plan->args;
    const int layout = args->spread ? DEPTH_SPREAD : args->a.along_depth ? DEPTH_RUNS : LINES_RUN;
    const int which = (int)(variant - &variants[matmul_row_thin_one]);
    return launch_shares(ways[which][layout][args->once], call, plan);
}

#define NARROW(count)                                                                              \
    {                                                                                              \
        &variants[matmul_row_narrow_##count], &part_narrow_##count##_lines                         \
    }

static gm_status launch_narrow(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const gm_variant *const ways[][2] = {NARROW(8), NARROW(16), NARROW(24), NARROW(32)};
    const matmul_args *args = (const matmul_args *)plan->args;
    const int which = (int)(variant - &variants[matmul_row_narrow_8]);
    return launch_shares(ways[which][!args->a.along_depth], call, plan);
}

static gm_status launch_tma(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    static const gm_variant *const parts[] = {&part_tma_nt, &part_tma_tn, &part_tma_tt};
    const matmul_args *args = (const matmul_args *)plan->args;
    const sgemm_args layouts = {.a = args->a, .b = args->b, .depth = args->depth};
    return matmul_tma_launch(sgemm_way(variant, parts, &layouts), call, plan);
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
