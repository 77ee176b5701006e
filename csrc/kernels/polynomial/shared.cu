/*
 * polynomial / shared: a copy of the coefficients per block, in shared memory.
 *
 * Follows  global.
 * Idea     the threads of a block load them together, once. All lanes then read the same word,
 *          which its bank broadcasts in one pass.
 * Machine  LDS
 */
#include "polynomial.h"

template <typename real> GM_DEVICE real evaluate(real x, const real *c, int64_t terms)
{
    real value = terms > 0 ? c[terms - 1] : 0;
    for (int64_t k = terms - 2; k >= 0; k--) {
        value = value * x + c[k];
    }
    return value;
}

template <typename real> GM_DEVICE void evaluate_all(const polynomial_args &a, real *c)
{
    for (int64_t k = threadIdx.x; k < a.terms; k += blockDim.x) {
        c[k] = ((const real *)a.coefficients)[k];
    }
    __syncthreads();
    for (int64_t i = gm_grid_index(); i < a.count; i += gm_grid_stride()) {
        ((real *)a.out)[i] = evaluate<real>(((const real *)a.in)[i], c, a.terms);
    }
}

GM_KERNEL(polynomial_shared, polynomial_args)
{
    GM_DYNAMIC_SHARED(double, c);
    if (a.itemsize == 4) {
        evaluate_all<float>(a, (float *)c);
    } else {
        evaluate_all<double>(a, c);
    }
}
