/* matmul: the plan of whole, a block per product of small matrices. */
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

int64_t matmul_whole_bytes(const matmul_args *args, int side)
{
    const int64_t rows = args->a.lines, columns = args->b.lines, depth = args->depth;
    const int64_t factors = MATMUL_WHOLE_ROOM(rows * depth) + MATMUL_WHOLE_ROOM(columns * depth);
    const int64_t before = factors + MATMUL_WHOLE_ZEROS, after = MATMUL_WHOLE_SUMS((int64_t)side);
    return (int64_t)sizeof(float) * (before > after ? before : after);
}

/* Through the banks of shared memory, of a load of numbers of so many lines. They are `depth`
 * apart, or neighbours. */
static int passes(const matmul_factor *x, int64_t depth, int lines)
{
    enum { BANKS = 32 };
    int others = BANKS; /* lines with numbers in different banks */
    for (int64_t d = depth; x->along_depth && others > 1 && d % 2 == 0; d /= 2) {
        others /= 2;
    }
    return lines > others ? lines / others : 1;
}

void matmul_pace_whole(const gm_call *call, const matmul_args *args, matmul_kernel *kernel)
{
    enum { ROWS = 32 / MATMUL_WHOLE_SIDE, COLUMNS = MATMUL_WHOLE_SIDE };
    enum { RESERVED = 1024 }; /* bytes of each block */
    const int64_t bytes = matmul_whole_bytes(args, kernel->shape.width) + RESERVED;
    const int64_t fit = call->device->shared_per_multiprocessor / bytes;
    const double ways =
        0.5 * (passes(&args->a, args->depth, ROWS) + passes(&args->b, args->depth, COLUMNS));
    kernel->shape.blocks = fit < 1                      ? 1
                           : fit < kernel->shape.blocks ? (int)fit
                                                        : kernel->shape.blocks;
    kernel->pace.rate /= ways;
    kernel->pace.alone /= ways;
}

gm_status matmul_suits_whole(const char *name, const gm_variant *instance, const matmul_args *args)
{
    const int side = (int)instance->tile.x;
    const int64_t most = args->a.lines > args->b.lines ? args->a.lines : args->b.lines;
    if (most > side) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s takes results of up to %d x %d elements, these have %lld x %lld",
                       name, side, side, (long long)args->a.lines, (long long)args->b.lines);
    }
    if (matmul_whole_bytes(args, side) > (int64_t)instance->shared_bytes) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s has %lld bytes of shared memory for two matrices, these need "
                       "%lld",
                       name, (long long)instance->shared_bytes,
                       (long long)matmul_whole_bytes(args, side));
    }
    if (!has_no_gaps(&args->a, args->depth) || !has_no_gaps(&args->b, args->depth)) {
        return gm_fail(GM_ERROR_VALUE,
                       "variant %s needs matrices without gaps (variant=\"auto\" takes any layout)",
                       name);
    }
    if (args->products > INT32_MAX) {
        return gm_fail(GM_ERROR_VALUE, "variant %s counts up to %d products, these are %lld", name,
                       INT32_MAX, (long long)args->products);
    }
    return GM_OK;
}

void matmul_plan_whole(const gm_call *call, matmul_args *args)
{
    const matmul_size size = matmul_measure(call, args);
    args->once = matmul_a_is_read_once(args) && matmul_b_is_read_once(args) &&
                 gm_evict_first_of_l2(call->device, size.loads);
}
