/*
 * polynomial / register_vec4: the points as fast as a copy.
 *
 * Follows  register, whose points are 32-bit accesses far apart.
 * Idea     with the coefficients in registers a point takes one load, one store and a few products:
 *          memory is the limit. So a thread loads and stores four vectors of 16 bytes, in the order
 *          of addresses, and long runs are prefetched to the L2 well ahead. The launch may overlap
 *          the end of the previous kernel.
 * Points   each thread loads the coefficients, so that it needs many points: with four floats per
 *          thread instead of sixteen it is an eighth slower on an H200.
 * Machine  LDG.E.128, STG.E.128, UBLKPF
 */
#include "registers.h"
#include "vectors.h"

/* Whole vectors of coefficients first, then the rest one by one. */
template <typename real, int terms>
GM_DEVICE void load_coefficients(real (&own)[terms], const polynomial_args &a)
{
    typedef typename stream_vector<real>::type vector;
    enum { EACH = some_points<real>::EACH, WHOLE = terms / EACH * EACH };
#pragma unroll
    for (int k = 0; k < WHOLE; k += EACH) {
        stream_unpack(((const vector *)a.coefficients)[k / EACH], &own[k]);
    }
#pragma unroll
    for (int k = WHOLE; k < terms; k++) {
        own[k] = ((const real *)a.coefficients)[k];
    }
}

template <typename real, int terms> GM_DEVICE void in_vectors_of(const polynomial_args &a)
{
    real own[terms];
    gm_wait_for_previous();
    load_coefficients(own, a);
    in_vectors<real>(a, [&](some_points<real> &points) {
#pragma unroll
        for (int p = 0; p < some_points<real>::COUNT; p++) {
            real value = own[terms - 1];
#pragma unroll
            for (int k = terms - 2; k >= 0; k--) {
                value = value * points.x[p] + own[k];
            }
            points.x[p] = value;
        }
    });
}

GM_KERNEL_BOUNDED(polynomial_register_vec4, polynomial_args, 128, 6)
{
    IN_REGISTERS(in_vectors_of)
}
