/*
 * polynomial / constant_divergent: constant memory, a different address in each lane.
 *
 * Follows  constant.
 * Idea     a step back: each lane has a copy of its own. The constant cache serves one address at a
 *          time, so that a request takes 32 passes instead of one.
 * Machine  LDC
 */
#include "polynomial.h"

GM_CONSTANT(double, polynomial_copies, POLYNOMIAL_CONSTANT_BYTES / sizeof(double))

template <typename real> GM_DEVICE real evaluate(real x, int64_t terms)
{
    const real *c = (const real *)polynomial_copies + threadIdx.x % POLYNOMIAL_LANES;
    real value = terms > 0 ? c[(terms - 1) * POLYNOMIAL_LANES] : 0;
    for (int64_t k = terms - 2; k >= 0; k--) {
        value = value * x + c[k * POLYNOMIAL_LANES];
    }
    return value;
}

GM_KERNEL(polynomial_constant_divergent, polynomial_args)
{
    POLYNOMIAL_EACH_POINT(evaluate, a.terms)
}
