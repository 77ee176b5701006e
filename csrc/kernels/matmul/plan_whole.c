/* matmul: the plan of whole, a block per product of small matrices, or per panel of one. */
#include "matmul/plan_whole.h"

#include "l2_policy.h"

static bool has_no_gaps(const matmul_factor *x, int64_t depth)
{
    const int64_t run = x->along_depth ? depth : x->lines;
    const int64_t within = x->along_depth ? x->depth_stride : x->line_stride;
    const int64_t across = x->along_depth ? x->line_stride : x->depth_stride;
    const int64_t runs = x->along_depth ? x->lines : depth;
    return (run <= 1 || within == 1) && (runs <= 1 || across == run);
}

/* Panels of so many lines at most. */
static int64_t panels(const matmul_factor *x, int64_t most)
{
    return matmul_divide_up(x->lines > 0 ? x->lines : 1, most);
}

static int64_t lines_of_block(const matmul_factor *x, int64_t most)
{
    return MATMUL_WHOLE_PANEL(x->lines, panels(x, most));
}

static int64_t threads_across(const gm_variant *instance)
{
    return instance->block.x / MATMUL_WHOLE_DOWN;
}

int64_t matmul_whole_bytes(const matmul_args *args, const gm_variant *instance)
{
    const int64_t height = instance->tile.y, width = instance->tile.x, depth = args->depth;
    const int64_t of_a = MATMUL_WHOLE_ROOM(lines_of_block(&args->a, height) * depth);
    const int64_t of_b = MATMUL_WHOLE_ROOM(lines_of_block(&args->b, width) * depth);
    const int64_t zeros = height > width ? height : width;
    const int64_t sums = height * MATMUL_WHOLE_PITCH(width, threads_across(instance));
    const int64_t before = of_a + of_b + zeros;
    return (int64_t)sizeof(float) * (before > sums ? before : sums);
}

/* Through the banks of shared memory, of a load of numbers of so many lines. They are `depth`
 * apart, or neighbours. */
static int passes(const matmul_factor *x, int64_t depth, int64_t lines)
{
    enum { BANKS = 32 };
    int others = BANKS; /* lines with numbers in different banks */
    for (int64_t d = depth; x->along_depth && others > 1 && d % 2 == 0; d /= 2) {
        others /= 2;
    }
    return (int)(lines > others ? matmul_divide_up(lines, others) : 1);
}

/* Of a warp's loads for a step: of `each` lines of a thread, `at_once` of different threads.
 * Threads whose lines do not exist read the last one. */
static int passes_of_step(const matmul_factor *x, int64_t depth, int64_t lines, int each,
                          int at_once)
{
    int sum = 0;
    for (int i = 0; i < each; i++) {
        const int64_t left = lines - (int64_t)i * at_once;
        sum += passes(x, depth, left < at_once ? left : at_once);
    }
    return sum;
}

void matmul_pace_whole(const gm_call *call, const matmul_args *args, const gm_variant *instance,
                       matmul_kernel *kernel)
{
    enum { RESERVED = 1024 }; /* bytes of each block */
    const int64_t bytes = matmul_whole_bytes(args, instance) + RESERVED;
    const int64_t fit = call->device->shared_per_multiprocessor / bytes;
    const int across = (int)threads_across(instance), height = kernel->shape.height;
    const int rows = height / MATMUL_WHOLE_DOWN, columns = kernel->shape.width / across;
    const int64_t lines_a = lines_of_block(&args->a, height);
    const int64_t lines_b = lines_of_block(&args->b, kernel->shape.width);
    const int of_a = passes_of_step(&args->a, args->depth, lines_a, rows, 32 / across);
    const int of_b = passes_of_step(&args->b, args->depth, lines_b, columns, across);
    const double products = (double)rows * columns; /* in as many cycles as a warp's loads */
    const double slower = (products + of_a + of_b) / (products + rows + columns);
    kernel->shape.blocks = fit < 1                      ? 1
                           : fit < kernel->shape.blocks ? (int)fit
                                                        : kernel->shape.blocks;
    kernel->pace.rate /= slower;
    kernel->pace.alone /= slower;
}

gm_status matmul_suits_whole(const char *name, const gm_variant *instance, const matmul_args *args)
{
    const int64_t height = instance->tile.y, width = instance->tile.x;
    const int64_t rows = args->a.lines, columns = args->b.lines;
    const bool flat = args->depth <= 1;
    if (!has_no_gaps(&args->a, args->depth) || !has_no_gaps(&args->b, args->depth)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs matrices without gaps (variant=\"auto\" takes any layout)",
                       name);
    }
    if ((rows > height && !args->a.along_depth && !flat) ||
        (columns > width && !args->b.along_depth && !flat)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s takes results of up to %lld x %lld elements, or more where rows "
                       "of a or columns of b are contiguous; these have %lld x %lld",
                       name, (long long)height, (long long)width, (long long)rows,
                       (long long)columns);
    }
    if (matmul_whole_bytes(args, instance) > (int64_t)instance->shared_bytes) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s has %lld bytes of shared memory for two matrices, these need "
                       "%lld",
                       name, (long long)instance->shared_bytes,
                       (long long)matmul_whole_bytes(args, instance));
    }
    if (args->products > INT32_MAX ||
        panels(&args->a, height) > UINT16_MAX / panels(&args->b, width)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s counts up to %d products and %d parts of a result, these are "
                       "%lld of %lld x %lld elements",
                       name, INT32_MAX, UINT16_MAX, (long long)args->products, (long long)rows,
                       (long long)columns);
    }
    return GM_OK;
}

void matmul_plan_whole(const gm_variant *instance, const gm_call *call, matmul_args *args)
{
    const matmul_size size = matmul_measure(call, args);
    args->tiles_x = panels(&args->b, instance->tile.x);
    args->tiles_y = panels(&args->a, instance->tile.y);
    args->once = args->tiles_x * args->tiles_y == 1 && matmul_a_is_read_once(args) &&
                 matmul_b_is_read_once(args) && gm_evict_first_of_l2(call->device, size.loads);
}
