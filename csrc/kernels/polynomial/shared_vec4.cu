/*
 * polynomial / shared_vec4: eight points share what is read of the coefficients.
 *
 * Follows  shared, which reads a coefficient from shared memory for every product and sum.
 * Idea     with many coefficients arithmetic decides, and nothing else should take its turns: 16
 *          bytes of coefficients are read at once, and serve eight points. Their sums do not wait
 *          for one another.
 * Machine  LDS.128, LDG.E.EF.128, STG.E.EF.128
 */
#include "polynomial.h"
#include "stream.h"

enum { POINTS = 8 };

template <typename real>
GM_DEVICE void step(real (&value)[POINTS], const real (&x)[POINTS], real coefficient)
{
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        value[p] = value[p] * x[p] + coefficient;
    }
}

/* At eight points: one by one as many coefficients as are no whole vector, then by vectors. */
template <typename real>
GM_DEVICE void evaluate(real (&value)[POINTS], const real (&x)[POINTS], const real *c, int terms)
{
    typedef typename stream_vector<real>::type vector;
    enum { EACH = sizeof(vector) / sizeof(real) };
    int k = terms - 1;
    const real highest = terms > 0 ? c[k] : 0;
#pragma unroll
    for (int p = 0; p < POINTS; p++) {
        value[p] = highest;
    }
    for (; k % EACH > 0; k--) {
        step(value, x, c[k - 1]);
    }
    for (k -= EACH; k >= 0; k -= EACH) {
        real four[EACH];
        stream_unpack(*(const vector *)&c[k], four);
#pragma unroll
        for (int j = EACH - 1; j >= 0; j--) {
            step(value, x, four[j]);
        }
    }
}

template <typename real> GM_DEVICE void evaluate_all(const polynomial_args &a, real *c)
{
    typedef typename stream_vector<real>::type vector;
    enum { EACH = sizeof(vector) / sizeof(real), VECTORS = POINTS / EACH };
    const vector *in = (const vector *)a.in;
    vector *out = (vector *)a.out;
    const int64_t n = a.count / EACH, wide = blockDim.x, tile = VECTORS * wide;
    real x[POINTS], value[POINTS];

    gm_wait_for_previous();
    for (int k = threadIdx.x; k < a.terms; k += blockDim.x) {
        c[k] = ((const real *)a.coefficients)[k];
    }
    __syncthreads();
    for (int64_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
        const int64_t i = base + threadIdx.x;
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            stream_unpack(__ldcs(&in[min(i + v * wide, n - 1)]), &x[v * EACH]);
        }
        evaluate(value, x, c, (int)a.terms);
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            if (i + v * wide < n) {
                __stcs(&out[i + v * wide], stream_pack(&value[v * EACH]));
            }
        }
    }
    const int64_t i = n * EACH + gm_grid_index();
    if (i < a.count) { /* after the last whole vector */
        x[0] = ((const real *)a.in)[i];
        evaluate(value, x, c, (int)a.terms);
        ((real *)a.out)[i] = value[0];
    }
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
