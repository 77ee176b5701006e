/*
 * matmul / sgemm: products that are large enough for the kernels of sgemm, one after the other.
 */
#include <math.h>

#include "matmul/launches.h"
#include "matmul/plan_size.h"
#include "matmul/plan_stack.h"
#include "sgemm/launches.h"
#include "sgemm/plan_layouts.h"

enum { A, B };
enum { ALPHA, BETA, TRANS_A, TRANS_B, PRECISION };

/* The call of sgemm for the first product of the stack; false if it takes no such layouts. */
static bool describe(const gm_call *call, const matmul_args *args, gm_call *product)
{
    gm_begin_like(call, "sgemm", product);
    product->out = call->out;
    product->parameters[PRECISION] = call->parameters[MATMUL_PRECISION];
    product->parameters[ALPHA].real = 1;
    product->parameters[BETA].real = 0;
    product->in[2].absent = true;
    matmul_as_matrix(call, A, &product->in[A]);
    matmul_as_matrix(call, B, &product->in[B]);
    product->out.ndim = 2;
    product->out.shape[0] = args->a.lines;
    product->out.shape[1] = args->b.lines;
    product->out.strides[0] = args->b.lines * (int64_t)sizeof(float);
    product->out.strides[1] = (int64_t)sizeof(float);
    product->out.size = args->a.lines * args->b.lines;
    product->out.bytes = product->out.size * (int64_t)sizeof(float);
    product->out.contiguous = true;
    product->parameters[TRANS_A].integer = 0;
    product->parameters[TRANS_B].integer = 0;
    return sgemm_as_rows(&product->in[A], &product->parameters[TRANS_A]) &&
           sgemm_as_rows(&product->in[B], &product->parameters[TRANS_B]);
}

bool matmul_suits_sgemm(const gm_call *call, const matmul_args *args)
{
    gm_call product;
    return call->out.size == 0 || describe(call, args, &product);
}

bool matmul_gains_by_precision(const gm_call *call, const matmul_args *args)
{
    gm_call product;
    if (call->out.size == 0 || !describe(call, args, &product)) {
        return false;
    }
    const gm_variant *chosen = product.family->choose(&product);
    product.parameters[PRECISION].integer = 0;
    return product.family->choose(&product) != chosen;
}

gm_status matmul_sgemm_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const matmul_args args = *(const matmul_args *)plan->args;
    gm_call product;
    gm_status status = GM_OK;
    (void)variant;
    (void)describe(call, &args, &product);
    for (int64_t i = 0; status == GM_OK && i < args.products; i++) {
        const gm_variant *chosen = NULL;
        int64_t index = i, of_a = 0, of_b = 0;
        for (int d = 0; d < args.axes; d++) {
            of_a += index % args.extent[d] * args.step_a[d];
            of_b += index % args.extent[d] * args.step_b[d];
            index /= args.extent[d];
        }
        product.in[A].data = call->in[A].data + of_a * (int64_t)sizeof(float);
        product.in[B].data = call->in[B].data + of_b * (int64_t)sizeof(float);
        product.out.data = call->out.data + i * product.out.bytes;
        status = gm_prepare(&chosen, &product, plan);
        if (status == GM_OK) {
            status = gm_launch(chosen, &product, plan);
        }
    }
    return status;
}

/* sgemm copies some factors first, at about 0.8 of the memory's speed. */
static double time_to_pack(const matmul_size *size, const matmul_factor *factor)
{
    static const double START = 4500, SPEED = 0.8;
    const double bytes = 8.0 * (double)factor->lines * (double)size->depth;
    return START + bytes / (SPEED * size->memory * size->multiprocessors);
}

/* Factors that are transposed on chip. */
static int transposed(const matmul_args *args)
{
    if (sgemm_packs_b(&args->a, &args->b) || !args->b.along_depth) {
        return 0;
    }
    return args->a.along_depth && args->a.vectors ? 2 : 1;
}

/* AROUND and SLOWER: fitted to single calls on an H200, like the model of tiles. */
double matmul_time_of_sgemm(const matmul_size *size, const matmul_args *args)
{
    static const double AROUND = 4270, SLOWER = 1.126, TRANSPOSED = 0.017;
    if (!sgemm_is_for_the_engine(size->rows, size->columns, size->depth)) {
        return HUGE_VAL; /* by the plainest kernels */
    }
    const sgemm_choice choice =
        sgemm_choose_by_engine(size->rows, size->columns, size->depth, size->multiprocessors);
    const double slower = SLOWER * (1 + TRANSPOSED * transposed(args));
    const double time = AROUND + slower * SGEMM_UNIT * choice.time;
    const double pack_a = args->a.vectors ? 0 : time_to_pack(size, &args->a);
    const double pack_b = sgemm_packs_b(&args->a, &args->b) ? time_to_pack(size, &args->b) : 0;
    return (time + pack_a + pack_b) * (double)size->products;
}
