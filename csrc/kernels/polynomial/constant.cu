/*
 * polynomial / constant: the coefficients in constant memory.
 *
 * Follows  shared.
 * Idea     constant memory has a cache of its own that hands one word to all lanes at once, and an
 *          instruction may name it as an operand: no load at all.
 * Machine  FFMA with c[3][...], or LDC
 */
#include "polynomial.h"

GM_CONSTANT(double, polynomial_table, POLYNOMIAL_CONSTANT_BYTES / sizeof(double))

template <typename real> GM_DEVICE real evaluate(real x, int64_t terms)
{
    const real *c = (const real *)polynomial_table;
    real value = terms > 0 ? c[terms - 1] : 0;
    for (int64_t k = terms - 2; k >= 0; k--) {
        value = value * x + c[k];
    }
    return value;
}

GM_KERNEL(polynomial_constant, polynomial_args)
{
    POLYNOMIAL_EACH_POINT(evaluate, a.terms)
}
