/* matmul: what a stack of products has to compute and to move, and its factors exchanged. */
#include "matmul/plan_size.h"

#include <string.h>

#include "memory_rate.h"

/* Numbers of a factor in the stack: along an axis with step 0 it is repeated. */
static double numbers(const matmul_args *args, const matmul_factor *factor, const int64_t *steps)
{
    double count = (double)factor->lines * (double)args->depth;
    for (int d = 0; d < args->axes; d++) {
        count *= steps[d] == 0 ? 1 : (double)args->extent[d];
    }
    return count;
}

/* Of kernels that copy vectors of neighbouring lines only. */
static matmul_copy copy_of(const matmul_factor *x)
{
    return x->along_depth ? MATMUL_BY_STEPS : x->vectors ? MATMUL_BY_VECTORS : MATMUL_BY_LINES;
}

matmul_size matmul_measure(const gm_call *call, const matmul_args *args)
{
    const double size = sizeof(float);
    const int multiprocessors = call->device->multiprocessors;
    return (matmul_size){
        .rows = args->a.lines,
        .columns = args->b.lines,
        .depth = args->depth,
        .products = args->products,
        .loads =
            size * (numbers(args, &args->a, args->step_a) + numbers(args, &args->b, args->step_b)),
        .stores = size * (double)args->products * (double)args->a.lines * (double)args->b.lines,
        .copy_rows = copy_of(&args->a),
        .copy_columns = copy_of(&args->b),
        .stores_vectors = args->out_vectors,
        .turned = args->turned,
        .multiprocessors = multiprocessors > 0 ? multiprocessors : 1,
        .memory = gm_memory_rate(call->device),
    };
}

static bool is_read_once(const matmul_args *args, const int64_t *steps)
{
    bool once = true;
    for (int d = 0; d < args->axes; d++) {
        once = once && (steps[d] != 0 || args->extent[d] == 1);
    }
    return once;
}

bool matmul_a_is_read_once(const matmul_args *args)
{
    return is_read_once(args, args->step_a);
}

bool matmul_b_is_read_once(const matmul_args *args)
{
    return is_read_once(args, args->step_b);
}

void matmul_turn(matmul_args *args)
{
    const matmul_factor first = args->a;
    int64_t steps[MATMUL_AXES];
    args->a = args->b;
    args->b = first;
    memcpy(steps, args->step_a, sizeof steps);
    memcpy(args->step_a, args->step_b, sizeof steps);
    memcpy(args->step_b, steps, sizeof steps);
    args->turned = !args->turned;
}
