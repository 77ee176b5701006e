/*
 * polynomial / readonly: the read-only path of global memory.
 *
 * Follows  global.
 * Idea     __ldg promises that nothing writes the coefficients while the kernel runs, so that the
 *          compiler may move the loads ahead of stores and of each other.
 * Machine  LDG.E.CONSTANT
 */
#include "polynomial.h"

template <typename real> GM_DEVICE real evaluate(real x, const polynomial_args &a)
{
    const real *__restrict__ c = (const real *)a.coefficients;
    real value = a.terms > 0 ? __ldg(&c[a.terms - 1]) : 0;
    for (int64_t k = a.terms - 2; k >= 0; k--) {
        value = value * x + __ldg(&c[k]);
    }
    return value;
}

GM_KERNEL(polynomial_readonly, polynomial_args)
{
    POLYNOMIAL_EACH_POINT(evaluate, a)
}
