/* Are distances numbers of 32 bits? For plans of kernels that are faster then. */
#ifndef GPUMEM_NEAR_H
#define GPUMEM_NEAR_H

#include <stdint.h>
#include <stdlib.h>

/* How far units reach along one more axis, if they reach so far along the others: more than
 * INT32_MAX as soon as a part of it is. */
static inline int64_t gm_reach(int64_t reach, int64_t extent, int64_t stride)
{
    const int64_t step = llabs(stride);
    return reach > INT32_MAX || step > INT32_MAX || extent > INT32_MAX
               ? (int64_t)INT32_MAX + 1
               : reach + (extent - 1) * step;
}

#endif
