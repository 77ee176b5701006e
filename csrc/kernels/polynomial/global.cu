/*
 * polynomial / global: the coefficients in global memory.
 *
 * Idea     all lanes of a warp read one address: a sector, of which they use 4 or 8 bytes. It stays
 *          in the L1, but each step waits for the load.
 * Machine  LDG.E
 */
#include "polynomial.h"

template <typename real> GM_DEVICE real evaluate(real x, const polynomial_args &a)
{
    const real *c = (const real *)a.coefficients;
    real value = a.terms > 0 ? c[a.terms - 1] : 0;
    for (int64_t k = a.terms - 2; k >= 0; k--) {
        value = value * x + c[k];
    }
    return value;
}

GM_KERNEL(polynomial_global, polynomial_args)
{
    POLYNOMIAL_EACH_POINT(evaluate, a)
}
