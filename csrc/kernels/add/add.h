/*
 * add: out = a + b, number by number.
 *
 * All variants run one kernel. They differ in where the arrays are and in how they get there.
 */
#ifndef GPUMEM_ADD_H
#define GPUMEM_ADD_H

#include <stdbool.h>
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
    int64_t bytes; /* of each */
    int type;
    bool vectors; /* all three are aligned to 16 bytes */
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

template <typename number, typename vector> GM_DEVICE void add_numbers(const add_args &a)
{
    enum { PER_VECTOR = sizeof(vector) / sizeof(number) };
    const int64_t count = a.bytes / (int64_t)sizeof(number);
    const int64_t vectors = a.vectors ? count / PER_VECTOR : 0;
    const number *x = (const number *)a.a, *y = (const number *)a.b;
    number *out = (number *)a.out;
    for (int64_t i = gm_grid_index(); i < vectors; i += gm_grid_stride()) {
        const vector left = ((const vector *)x)[i], right = ((const vector *)y)[i];
        ((vector *)out)[i] = add_vectors(left, right);
    }
    for (int64_t i = vectors * PER_VECTOR + gm_grid_index(); i < count; i += gm_grid_stride()) {
        out[i] = x[i] + y[i];
    }
}

/* The body of all variants. */
GM_DEVICE void add_arrays(const add_args &a)
{
    switch (a.type) {
    case ADD_INT32: add_numbers<uint32_t, uint4>(a); break;
    case ADD_INT64: add_numbers<uint64_t, ulonglong2>(a); break;
    case ADD_FLOAT32: add_numbers<float, float4>(a); break;
    case ADD_FLOAT64: add_numbers<double, double2>(a); break;
    }
}
#endif

#endif
