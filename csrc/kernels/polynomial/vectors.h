/*
 * Points in vectors: a thread has four vectors of 16 bytes, a block's width apart, and loads all of
 * them before it computes. Blocks run in the order of addresses, see stream.h.
 */
#ifndef GPUMEM_POLYNOMIAL_VECTORS_H
#define GPUMEM_POLYNOMIAL_VECTORS_H

#include "polynomial.h"
#include "stream.h"

enum { VECTORS = 4 };

/* The points that a thread has at a time. */
template <typename real> struct some_points {
    enum { EACH = 16 / sizeof(real), COUNT = VECTORS * EACH };
    real x[COUNT];
};

/* evaluate(points) replaces each point by its value. */
template <typename real, typename function>
GM_DEVICE void in_vectors(const polynomial_args &a, function evaluate)
{
    typedef typename stream_vector<real>::type vector;
    enum { EACH = some_points<real>::EACH };
    const vector *in = (const vector *)a.in;
    vector *out = (vector *)a.out;
    const int64_t n = a.count / EACH, wide = blockDim.x, tile = VECTORS * wide;
    some_points<real> points;

    for (int64_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
        const int64_t i = base + threadIdx.x;
        stream_prefetch(a.in, base * (int64_t)sizeof(vector), n * (int64_t)sizeof(vector));
#pragma unroll
        for (int v = 0; v < VECTORS; v++) { /* clamped: loads without a branch */
            stream_unpack(gm_load_kept(&in[min(i + v * wide, n - 1)]), &points.x[v * EACH]);
        }
        evaluate(points);
#pragma unroll
        for (int v = 0; v < VECTORS; v++) {
            if (i + v * wide < n) {
                out[i + v * wide] = stream_pack(&points.x[v * EACH]);
            }
        }
    }
    const int64_t i = n * EACH + gm_grid_index();
    if (i < a.count) { /* points after the last whole vector */
#pragma unroll
        for (int p = 0; p < some_points<real>::COUNT; p++) {
            points.x[p] = ((const real *)a.in)[i];
        }
        evaluate(points);
        ((real *)a.out)[i] = points.x[0];
    }
}

#endif
