/*
 * polynomial / shared_vec4: many points share each load of coefficients.
 *
 * Follows  shared, which reads a coefficient from shared memory for every multiply-add.
 * Idea     with many coefficients arithmetic is the limit, and other instructions should be few: a
 *          load brings 16 bytes of coefficients for sixteen floats or eight doubles, whose sums are
 *          independent. Points are loaded and stored as in register_vec4.
 * Machine  LDS.128, LDG.E.128, STG.E.128, UBLKPF
 */
#include "vectors.h"

template <typename real>
GM_DEVICE void step(some_points<real> &values, const some_points<real> &points, real coefficient)
{
#pragma unroll
    for (int p = 0; p < some_points<real>::COUNT; p++) {
        values.x[p] = values.x[p] * points.x[p] + coefficient;
    }
}

/* The highest coefficients one by one, until whole vectors of them are left. */
template <typename real>
GM_DEVICE void evaluate(some_points<real> &points, const real *c, int terms)
{
    typedef typename stream_vector<real>::type vector;
    enum { EACH = some_points<real>::EACH };
    some_points<real> values;
    int k = terms - 1;
    const real highest = terms > 0 ? c[k] : 0;
#pragma unroll
    for (int p = 0; p < some_points<real>::COUNT; p++) {
        values.x[p] = highest;
    }
    for (; k % EACH > 0; k--) {
        step(values, points, c[k - 1]);
    }
    for (k -= EACH; k >= 0; k -= EACH) {
        real several[EACH];
        stream_unpack(*(const vector *)&c[k], several);
#pragma unroll
        for (int j = EACH - 1; j >= 0; j--) {
            step(values, points, several[j]);
        }
    }
    points = values;
}

template <typename real> GM_DEVICE void evaluate_all(const polynomial_args &a, real *c)
{
    gm_wait_for_previous();
    for (int k = threadIdx.x; k < a.terms; k += blockDim.x) {
        c[k] = ((const real *)a.coefficients)[k];
    }
    __syncthreads();
    in_vectors<real>(a, [&](some_points<real> &points) { evaluate(points, c, (int)a.terms); });
}

GM_KERNEL(polynomial_shared_vec4, polynomial_args)
{
    GM_DYNAMIC_SHARED(double, c);
    if (a.itemsize == 4) {
        evaluate_all<float>(a, (float *)c);
    } else {
        evaluate_all<double>(a, c);
    }
}
