/* sgemm: the family. Shapes, the choice for "auto", and the plans of its kernels. */
#include "sgemm/sgemm.h"

#include "backend/backend.h"
#include "sgemm/fp16x3.h"
#include "sgemm/launches.h"
#include "sgemm/plan_layouts.h"
#include "sgemm/stream_k.h"
#include "sgemm/tf32x3.h"
#include "sgemm/warp_tile_tma.h"
#include "sgemm/whole.h"
#include "zeros.h"

static gm_status takes_pitches(const gm_variant *variant, const gm_call *call);
static gm_status takes_grid(const gm_variant *variant, const gm_call *call);
static gm_status takes_engine(const gm_variant *variant, const gm_call *call);

/* `grid` in the ladder: x counts all tiles, or those of a group, see sgemm_find_tile, or runs along
 * the rows of C, or down its columns; z counts on where y ends. */
enum { GRID_LINEAR, GRID_GROUPS, GRID_ROWS, GRID_COLUMNS };
enum { MAX_GRID_Y = 65535 };

#define GM_FAMILY sgemm
#define GM_LADDER "sgemm/ladder.def"
#include "family.h"

const gm_variant *const sgemm_helper_pack = &helper_pack;
const gm_variant *const sgemm_helper_add_shares = &helper_add_shares;
const gm_variant *const sgemm_helper_zeros = &helper_zeros;

/* By the layouts of the factors, see sgemm_way. */
#define PARTS(row)                                                                                 \
    {                                                                                              \
        &part_##row##_nt, &part_##row##_tn, &part_##row##_tt                                       \
    }
const gm_variant *const sgemm_parts_warp_tile_tma[] = PARTS(warp_tile_tma);
const gm_variant *const sgemm_parts_stream_k[] = PARTS(stream_k);

const gm_variant *const sgemm_helper_halves_along = &helper_halves_along;
const gm_variant *const sgemm_helper_halves_largest = &helper_halves_largest;
const gm_variant *const sgemm_helper_halves_across = &helper_halves_across;
const gm_variant *const sgemm_helper_halves_judge = &helper_halves_judge;

enum { A, B, C };
enum { ALPHA, BETA, TRANS_A, TRANS_B, PRECISION };

static bool is_transposed(const gm_call *call, int factor)
{
    return call->parameters[factor == A ? TRANS_A : TRANS_B].integer != 0;
}

/* Lines of op(A) are its rows, those of op(B) its columns; the other side is the depth. */
static int line_axis(const gm_call *call, int factor)
{
    return (factor == A) == is_transposed(call, factor);
}

/* ---- shapes -------------------------------------------------------------------------------- */

static gm_status check_shapes(const gm_call *call)
{
    for (int i = A; i <= C; i++) {
        gm_status status = call->in[i].absent ? GM_OK : gm_expect_dimensions(call, i, 2, "");
        if (status != GM_OK) {
            return status;
        }
    }
    const int64_t *a = call->in[A].shape, *b = call->in[B].shape;
    int depth_a = !line_axis(call, A), depth_b = !line_axis(call, B);
    if (a[depth_a] != b[depth_b]) {
        return gm_fail(GM_ERROR_VALUE,
                       "b has shape (%lld, %lld)%s, expected %lld %s, for a has shape (%lld, "
                       "%lld)%s",
                       (long long)b[0], (long long)b[1],
                       is_transposed(call, B) ? ", to be transposed" : "", (long long)a[depth_a],
                       depth_b == 0 ? "rows" : "columns", (long long)a[0], (long long)a[1],
                       is_transposed(call, A) ? ", to be transposed" : "");
    }
    return GM_OK;
}

static gm_status sgemm_result(gm_call *call)
{
    int64_t elements, bytes;
    gm_status status = check_shapes(call);
    if (status != GM_OK) {
        return status;
    }
    int64_t rows = call->in[A].shape[line_axis(call, A)];
    int64_t columns = call->in[B].shape[line_axis(call, B)];
    if (!gm_multiply(rows, columns, &elements) ||
        !gm_multiply(elements, (int64_t)sizeof(float), &bytes)) {
        return gm_fail(GM_ERROR_VALUE, "the product of a and b has shape (%lld, %lld): too large",
                       (long long)rows, (long long)columns);
    }
    const gm_array *c = &call->in[C];
    if (c->absent && call->parameters[BETA].real != 0) {
        return gm_fail(GM_ERROR_VALUE,
                       "c is None and beta is %g: c can be left out only where beta is 0",
                       call->parameters[BETA].real);
    }
    if (!c->absent && (c->shape[0] != rows || c->shape[1] != columns)) {
        return gm_fail(GM_ERROR_VALUE,
                       "c has shape (%lld, %lld), expected (%lld, %lld) as the product of a and b",
                       (long long)c->shape[0], (long long)c->shape[1], (long long)rows,
                       (long long)columns);
    }
    call->out.ndim = 2;
    call->out.shape[0] = rows;
    call->out.shape[1] = columns;
    return GM_OK;
}

static void sgemm_orient(gm_call *call)
{
    (void)sgemm_as_rows(&call->in[A], &call->parameters[TRANS_A]);
    (void)sgemm_as_rows(&call->in[B], &call->parameters[TRANS_B]);
}

/* ---- which variant ------------------------------------------------------------------------- */

static int64_t count_tiles(const gm_variant *variant, const gm_call *call)
{
    const gm_dim tile = variant->tile;
    return divide_up(call->out.shape[0], tile.y) * divide_up(call->out.shape[1], tile.x);
}

/* cuBLAS has no rows that overlap, or that run backwards in memory. */
static gm_status takes_pitches(const gm_variant *variant, const gm_call *call)
{
    for (int i = A; i <= C; i++) {
        const gm_array *in = &call->in[i];
        if (!in->absent && in->size > 0 && in->shape[0] > 1 && call->out.size > 0 &&
            in->strides[0] < in->shape[1] * in->itemsize) {
            return gm_fail(GM_ERROR_VALUE,
                           "variant %s needs rows that follow one another, those of %s are %lld "
                           "bytes apart (variant=\"auto\" takes any layout)",
                           variant->name, call->family->inputs[i].name, (long long)in->strides[0]);
        }
    }
    return GM_OK;
}

/* A block per tile. */
static gm_status takes_grid(const gm_variant *variant, const gm_call *call)
{
    const int64_t blocks = count_tiles(variant, call), most = call->device->max_grid_x;
    return blocks <= most ? GM_OK
                          : gm_fail(GM_ERROR_VALUE,
                                    "the result has %lld tiles of variant %s, a grid %lld blocks",
                                    (long long)blocks, variant->name, (long long)most);
}

/* The tensor copy engine counts in 32 bits. */
static gm_status takes_engine(const gm_variant *variant, const gm_call *call)
{
    const int64_t rows = call->out.shape[0], columns = call->out.shape[1];
    const int64_t depth = call->in[A].shape[!line_axis(call, A)];
    if (call->out.size > 0 && (rows > INT32_MAX || columns > INT32_MAX || depth > INT32_MAX)) {
        return gm_fail(
            GM_ERROR_VALUE, "variant %s takes sides of up to %d elements, not %lld x %lld x %lld",
            variant->name, INT32_MAX, (long long)rows, (long long)columns, (long long)depth);
    }
    return takes_grid(variant, call);
}

/* Products that are worth tiles by the copy engine, which shares out the depth where tiles are few.
 * Measured on an H200: at 128 x 128 x 128 the plainest kernel is as fast, and a depth of less than
 * a stage is better loaded by hand. */
bool sgemm_is_for_the_engine(int64_t rows, int64_t columns, int64_t depth)
{
    const double products = (double)rows * (double)columns * (double)depth;
    if ((rows <= 8 || columns <= 8) && depth < 1024) {
        return false; /* nearly all of a tile would be idle */
    }
    return products > 128.0 * 128 * 128 && depth >= WARP_TILE_TMA_DEPTH;
}

static bool is_for_the_engine(const gm_call *call)
{
    return sgemm_is_for_the_engine(call->out.shape[0], call->out.shape[1],
                                   call->in[A].shape[!line_axis(call, A)]);
}

/* May "auto" take fp16x3, and is that faster than FP32? Its passes over the factors and its
 * launches have to pay. In microseconds, as measured on an H200. */
static bool gains_by_halves(const gm_call *call)
{
    const double rows = (double)call->out.shape[0], columns = (double)call->out.shape[1];
    const double depth = (double)call->in[A].shape[!line_axis(call, A)];
    const double saved = 2 * rows * columns * depth * (1 / 50e6 - 1 / 215e6);
    const double passes = (8 * rows + 12 * columns) * depth / 2.7e6 + 45;
    return call->parameters[PRECISION].integer == 1 && saved > passes;
}

sgemm_choice sgemm_choose_by_engine(int64_t rows, int64_t columns, int64_t depth,
                                    int64_t multiprocessors)
{
    /* A smaller gain is within the error of the models. With 20 rounds of blocks and more, where
     * the last one hardly counts, stream_k was 1 to 3 percent slower on an H100. */
    static const double WORTH_IT = 0.98;
    const sgemm_args product = {
        .a.lines = rows,
        .b.lines = columns,
        .depth = depth,
        .tiles_x = divide_up(columns, WARP_TILE_TMA_WIDTH),
        .tiles_y = divide_up(rows, WARP_TILE_TMA_HEIGHT),
    };
    if (rows == 0 || columns == 0 || depth == 0) {
        return (sgemm_choice){false, 0};
    }
    const double shares = sgemm_shares_time(&product, multiprocessors);
    const double stream_k = sgemm_stream_k_time(&product, multiprocessors);
    return stream_k < WORTH_IT * shares ? (sgemm_choice){true, stream_k}
                                        : (sgemm_choice){false, shares};
}

/* The kernels whose tiles the copy engine brings, the fastest first, and what is slower. */
static const gm_variant *choose_by_engine(const gm_call *call)
{
    const sgemm_choice choice = sgemm_choose_by_engine(call->out.shape[0], call->out.shape[1],
                                                       call->in[A].shape[!line_axis(call, A)],
                                                       call->device->multiprocessors);
    const int row = choice.stream_k ? sgemm_row_stream_k : sgemm_row_warp_tile_tma;
    return gm_first_that_fits(call,
                              GM_ROWS(row, sgemm_row_warp_tile_tma, sgemm_row_hide_global_latency,
                                      sgemm_row_vec4, sgemm_row_naive));
}

/* A block with a large tile does as much as many with small ones, which load from global memory
 * directly: an eighth of the multiprocessors is enough. On a side of a few lines most of any tile
 * would be idle. */
static const gm_variant *sgemm_choose(const gm_call *call)
{
    int64_t rows = call->out.shape[0], columns = call->out.shape[1];
    int64_t narrow = rows < columns ? rows : columns;
    if (is_for_the_engine(call) && gains_by_halves(call)) {
        return gm_first_that_fits(call, GM_ROWS(sgemm_row_fp16x3, sgemm_row_warp_tile_tma,
                                                sgemm_row_hide_global_latency, sgemm_row_vec4,
                                                sgemm_row_naive));
    }
    if (is_for_the_engine(call)) {
        return choose_by_engine(call);
    }
    if (narrow <= 8) {
        return gm_row(call, sgemm_row_naive);
    }
    const gm_variant *large = gm_row(call, sgemm_row_hide_global_latency);
    if (8 * count_tiles(large, call) >= call->device->multiprocessors) {
        return gm_first_that_fits(
            call, GM_ROWS(sgemm_row_hide_global_latency, sgemm_row_vec4, sgemm_row_naive));
    }
    return gm_first_that_fits(call, GM_ROWS(sgemm_row_vec4, sgemm_row_naive));
}

/* ---- plans --------------------------------------------------------------------------------- */

static sgemm_factor describe_factor(const gm_call *call, int factor)
{
    const gm_array *array = &call->in[factor];
    int lines = line_axis(call, factor);
    return (sgemm_factor){
        .data = (const float *)array->data,
        .lines = array->shape[lines],
        .line_stride = sgemm_stride_along(array, lines),
        .depth_stride = sgemm_stride_along(array, !lines),
        .along_depth = lines == 0,
        .vectors = sgemm_has_vectors(array),
    };
}

static void plan_grid(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    /* Some 130 multiprocessors have two blocks each, 16 x 16 tiles, or one: 8 x 16 of them. */
    const int64_t group = variant->launch == sgemm_launch_tf32x3 ? SGEMM_GROUP / 2 : SGEMM_GROUP;
    sgemm_args *args = (sgemm_args *)plan->args;
    int64_t x = args->tiles_x = divide_up(call->out.shape[1], variant->tile.x);
    int64_t y = args->tiles_y = divide_up(call->out.shape[0], variant->tile.y);
    if (variant->grid == GRID_LINEAR) {
        args->group = (unsigned)least_of(y, group);
        x *= y, y = 1;
    } else if (variant->grid == GRID_GROUPS) { /* of about the same height */
        y = divide_up(y, least_of(group, call->device->max_grid_x / x));
        args->group = (unsigned)divide_up(args->tiles_y, y);
        x *= args->group;
    } else if (variant->grid == GRID_COLUMNS) {
        x = args->tiles_y, y = args->tiles_x;
    }
    plan->grid = (gm_dim){(unsigned)x, (unsigned)least_of(y, MAX_GRID_Y),
                          (unsigned)divide_up(y, MAX_GRID_Y)};
}

static gm_status sgemm_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    sgemm_args *args = (sgemm_args *)plan->args;
    const gm_array *c = &call->in[C], *out = &call->out;
    *args = (sgemm_args){
        .a = describe_factor(call, A),
        .b = describe_factor(call, B),
        .depth = call->in[A].shape[!line_axis(call, A)],
        .alpha = (float)call->parameters[ALPHA].real,
        .beta = (float)call->parameters[BETA].real + 0.0f, /* -0, too, is 0 */
        .out = (float *)out->data,
        .out_stride = sgemm_stride_along(out, 0),
        .out_vectors = sgemm_has_vectors(out),
    };
    plan->args_size = sizeof *args;
    if (out->size == 0) {
        return GM_OK; /* no blocks */
    }
    if (args->depth == 0 || args->alpha == 0) {
        /* There is no product, also where alpha is infinite: -0 changes nothing that it is added
         * to, while 0 would make a 0 of -0. */
        args->depth = 0;
        args->alpha = args->beta == 0 ? 0.0f : -0.0f;
    }
    if (!c->absent) {
        args->c = (const float *)c->data;
        args->c_stride = sgemm_stride_along(c, 0);
        args->c_step = sgemm_stride_along(c, 1);
        args->c_vectors = sgemm_has_vectors(c) && args->c_step == 1;
    }
    plan->grid.x = 1; /* something to do, if not by a kernel of our own */
    if (!variant->library) {
        plan_grid(variant, call, plan);
    }
    return GM_OK;
}

/* Rows of C, and those of op(A) and C that they are made of; all of B. */
static int sgemm_split(const gm_call *call, int input)
{
    return input == B ? GM_UNCUT : input == A ? line_axis(call, A) : 0;
}

#define FLOAT32 .kinds = "f", .itemsizes = 1 << 4, .dtypes = "float32"

static const gm_operand inputs[] = {
    [A] = {.name = "a", FLOAT32, .reread = true, .suits = sgemm_suits_factor},
    [B] = {.name = "b", FLOAT32, .reread = true, .suits = sgemm_suits_factor},
    [C] = {.name = "c", FLOAT32, .optional = true, .may_be_out = true, .suits = sgemm_suits_rows},
};
static const gm_parameter parameters[] = {
    [ALPHA] = {.name = "alpha", .real = true},
    [BETA] = {.name = "beta", .real = true},
    [TRANS_A] = {.name = "trans_a", .least = 0, .most = 1},
    [TRANS_B] = {.name = "trans_b", .least = 0, .most = 1},
    [PRECISION] = {.name = "precision", .least = 0, .most = 1},
};

const gm_family gm_family_sgemm = {
    .name = "sgemm",
    .doc = "alpha op(A) op(B) + beta C: a matrix product, from memory-bound to the peak",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 3,
    .parameters = parameters,
    .parameter_count = 5,
    .result = sgemm_result,
    .orient = sgemm_orient,
    .choose = sgemm_choose,
    .split = sgemm_split,
    .least_piece = 1024, /* rows: fewer leave multiprocessors idle */
    .plan = sgemm_plan,
};
