/*
 * static_value: writes a number to a variable of the device, adds 2 in a kernel, reads it back.
 */
#ifndef GPUMEM_STATIC_VALUE_H
#define GPUMEM_STATIC_VALUE_H

#include <stdint.h>

/* The type of the number in the variable. */
enum { STATIC_VALUE_INT32, STATIC_VALUE_INT64, STATIC_VALUE_FLOAT32, STATIC_VALUE_FLOAT64 };
enum { STATIC_VALUE_BYTES = 8 };

typedef struct static_value_args {
    const void *in;
    void *out;
    int64_t bytes;
    int type;
} static_value_args;

#ifdef __cplusplus
#include "device.h"

template <typename number> GM_DEVICE void static_value_add(void *variable)
{
    *(number *)variable += 2;
}

GM_DEVICE void static_value_add_two(void *variable, int type)
{
    if (threadIdx.x != 0) {
        return;
    }
    switch (type) {
    case STATIC_VALUE_INT32:
        static_value_add<unsigned>(variable);
        break; /* wraps around, as NumPy's do */
    case STATIC_VALUE_INT64: static_value_add<unsigned long long>(variable); break;
    case STATIC_VALUE_FLOAT32: static_value_add<float>(variable); break;
    case STATIC_VALUE_FLOAT64: static_value_add<double>(variable); break;
    }
}
#endif

#endif
