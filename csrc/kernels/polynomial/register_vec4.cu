/*
 * polynomial / register_vec4: the points as fast as by a copy.
 *
 * Follows  register, whose points are 32-bit accesses far apart.
 * Idea     with the coefficients in registers a point is one read, one write and a few products:
 *          memory decides. So 16 bytes of points per thread, blocks in the order of addresses,
 *          the L2 asked for long runs well ahead; the coefficients too are loaded 16 bytes at a
 *          time. The launch may overlap the end of the kernel before.
 * Machine  LDG.E.128, STG.E.128, UBLKPF
 */
#include "registers.h"
#include "stream.h"

/* Coefficients of the whole vectors first, then those that are left. */
template <typename real, int terms>
GM_DEVICE void load_coefficients(real (&own)[terms], const polynomial_args &a)
{
    typedef typename stream_vector<real>::type vector;
    enum { EACH = sizeof(vector) / sizeof(real), WHOLE = terms / EACH * EACH };
#pragma unroll
    for (int k = 0; k < WHOLE; k += EACH) {
        stream_unpack(((const vector *)a.coefficients)[k / EACH], &own[k]);
    }
#pragma unroll
    for (int k = WHOLE; k < terms; k++) {
        own[k] = ((const real *)a.coefficients)[k];
    }
}

template <typename real, int terms> GM_DEVICE real evaluate(real x, const real (&own)[terms])
{
    real value = own[terms - 1];
#pragma unroll
    for (int k = terms - 2; k >= 0; k--) {
        value = value * x + own[k];
    }
    return value;
}

template <typename real, int terms> GM_DEVICE void in_vectors(const polynomial_args &a)
{
    typedef typename stream_vector<real>::type vector;
    enum { EACH = sizeof(vector) / sizeof(real) };
    const vector *in = (const vector *)a.in;
    vector *out = (vector *)a.out;
    const int64_t n = a.count / EACH, step = blockDim.x;
    real own[terms];

    gm_wait_for_previous();
    load_coefficients(own, a);
    for (int64_t base = blockIdx.x * step; base < n; base += gridDim.x * step) {
        const int64_t i = base + threadIdx.x;
        stream_ask_ahead(a.in, base * (int64_t)sizeof(vector), n * (int64_t)sizeof(vector));
        if (i < n) {
            real x[EACH];
            stream_unpack(gm_load_kept(&in[i]), x);
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                x[j] = evaluate(x[j], own);
            }
            out[i] = stream_pack(x);
        }
    }
    const int64_t i = n * EACH + gm_grid_index();
    if (i < a.count) { /* after the last whole vector */
        ((real *)a.out)[i] = evaluate(((const real *)a.in)[i], own);
    }
}

GM_KERNEL(polynomial_register_vec4, polynomial_args)
{
    IN_REGISTERS(in_vectors)
}
