/*
 * add: out = a + b, number by number.
 *
 * All variants run one kernel. They differ in where the arrays are and in how they get there.
 */
#ifndef GPUMEM_ADD_H
#define GPUMEM_ADD_H

#include <stdint.h>

/* Integers are added as unsigned: sums wrap around, with the same bits for both signs. */
typedef enum add_type {
    ADD_INT32,
    ADD_INT64,
    ADD_FLOAT32,
    ADD_FLOAT64,
} add_type;

typedef struct add_args {
    const char *a, *b;
    char *out;
    int64_t bytes;         /* of each */
    int64_t head, vectors; /* bytes before the aligned vectors of the sum, and their number */
    int type;
} add_args;

#ifdef __cplusplus
#include "device.h"

GM_DEVICE uint4 add_vectors(const uint4 &a, const uint4 &b)
{
    return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

GM_DEVICE float4 add_vectors(const float4 &a, const float4 &b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

GM_DEVICE ulonglong2 add_vectors(const ulonglong2 &a, const ulonglong2 &b)
{
    return make_ulonglong2(a.x + b.x, a.y + b.y);
}

GM_DEVICE double2 add_vectors(const double2 &a, const double2 &b)
{
    return make_double2(a.x + b.x, a.y + b.y);
}

/* The numbers on both sides of the vectors. The last threads of the grid add them, which have no
 * vectors. */
template <typename number> GM_DEVICE void add_ends(const add_args &a)
{
    const int64_t size = sizeof(number), head = a.head / size;
    const int64_t body = a.vectors * (16 / size), ends = a.bytes / size - body;
    const number *x = (const number *)a.a, *y = (const number *)a.b;
    number *out = (number *)a.out;
#pragma unroll 1
    for (int64_t i = gm_grid_stride() - 1 - gm_grid_index(); i < ends; i += gm_grid_stride()) {
        const int64_t at = i < head ? i : i + body;
        out[at] = x[at] + y[at];
    }
}

template <typename number, typename vector> GM_DEVICE void add_numbers(const add_args &a)
{
    const vector *x = (const vector *)(a.a + a.head), *y = (const vector *)(a.b + a.head);
    vector *out = (vector *)(a.out + a.head);
#pragma unroll 1 /* the grid has a thread for each: no division that counts steps */
    for (int64_t i = gm_grid_index(); i < a.vectors; i += gm_grid_stride()) {
        const vector left = x[i], right = y[i];
        out[i] = add_vectors(left, right);
    }
    add_ends<number>(a);
}

/* Calls function<number, vector>(a) for the type of the numbers. */
#define ADD_BY_TYPE(function, a)                                                                   \
    switch ((a).type) {                                                                            \
    case ADD_INT32: function<uint32_t, uint4>(a); break;                                           \
    case ADD_INT64: function<uint64_t, ulonglong2>(a); break;                                      \
    case ADD_FLOAT32: function<float, float4>(a); break;                                           \
    case ADD_FLOAT64: function<double, double2>(a); break;                                         \
    }

/* The body of all variants that load no parts of vectors: where the arrays are not equally far
 * behind 16 bytes, all numbers are ends. */
GM_DEVICE void add_arrays(const add_args &a)
{
    ADD_BY_TYPE(add_numbers, a)
}
#endif

#endif
