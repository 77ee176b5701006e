/*
 * polynomial / shared_vec4: many points share what is read of the coefficients.
 *
 * Follows  shared, which reads a coefficient from shared memory for every product and sum.
 * Idea     with many coefficients arithmetic decides, and nothing else should take its turns: 16
 *          bytes of coefficients are read at once, and serve sixteen floats, or eight doubles.
 *          Their sums do not wait for one another. The points come and go as register_vec4's do.
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

/* One by one as many coefficients as are no whole vector, then by vectors. */
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
