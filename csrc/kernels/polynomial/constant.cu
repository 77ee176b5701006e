/*
 * polynomial / constant: the coefficients in constant memory.
 *
 * Follows  shared.
 * Idea     constant memory has a cache of its own, which broadcasts one word to all lanes at once.
 *          Where the address is known at compile time, as for the 16 lowest terms here, one load
 *          serves the warp and fills a uniform register; each lane loads the other terms, with an
 *          index.
 * Machine  ULDC and FFMA; LDC
 */
#include "polynomial.h"

GM_CONSTANT(double, polynomial_table, POLYNOMIAL_CONSTANT_BYTES / sizeof(double))

enum { NAMED = 16 };

/* Horner's rule for the terms below `below`, from the value of those above. */
template <typename real, int below> GM_DEVICE real lower_terms(real value, real x)
{
    const real *c = (const real *)polynomial_table;
#pragma unroll
    for (int k = below - 1; k >= 0; k--) {
        value = value * x + c[k];
    }
    return value;
}

template <typename real> GM_DEVICE real evaluate(real x, int64_t terms)
{
    const real *c = (const real *)polynomial_table;
#define POLYNOMIAL_CASE(n, real)                                                                   \
    case n: return lower_terms<real, n - 1>(c[n - 1], x)
    switch (terms) {
    case 0: return 0; POLYNOMIAL_EACH_COUNT(POLYNOMIAL_CASE, real)
    }
#undef POLYNOMIAL_CASE
    real value = c[terms - 1];
    for (int64_t k = terms - 2; k >= NAMED; k--) {
        value = value * x + c[k];
    }
    return lower_terms<real, NAMED>(value, x);
}

GM_KERNEL(polynomial_constant, polynomial_args)
{
    POLYNOMIAL_EACH_POINT(evaluate, a.terms)
}
