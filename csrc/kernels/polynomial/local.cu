/*
 * polynomial / local: a private array, with an index that the compiler does not know.
 *
 * Follows  global.
 * Idea     a private array looks like registers, but registers cannot be indexed: the array is in
 *          local memory, which is global memory interleaved by threads.
 * Cost     a copy of the coefficients per thread, and a load in each step. attributes() shows the
 *          bytes.
 * Machine  STL, LDL
 */
#include "polynomial.h"

template <typename real> GM_DEVICE void evaluate_all(const polynomial_args &a)
{
    const real *x = (const real *)a.in, *c = (const real *)a.coefficients;
    real own[POLYNOMIAL_LOCAL];
#pragma unroll 1
    for (int k = 0; k < (int)a.terms; k++) {
        own[k] = c[k];
    }
    for (int64_t i = gm_grid_index(); i < a.count; i += gm_grid_stride()) {
        real at = x[i], value = a.terms > 0 ? own[a.terms - 1] : 0;
#pragma unroll 1
        for (int k = (int)a.terms - 2; k >= 0; k--) {
            value = value * at + own[k];
        }
        ((real *)a.out)[i] = value;
    }
}

GM_KERNEL(polynomial_local, polynomial_args)
{
    if (a.itemsize == 4) {
        evaluate_all<float>(a);
    } else {
        evaluate_all<double>(a);
    }
}
