/* Which arrays kernels load with the hint to evict them first from the L2. */
#ifndef GPUMEM_L2_POLICY_H
#define GPUMEM_L2_POLICY_H

#include <stdbool.h>

#include "backend/backend.h"

/* Of an array that is read once: one that pushes other data out of the L2 waits until that is
 * written back. One much larger than the L2 does so anyway, and is read a little faster without the
 * hint. */
static inline bool gm_evict_first_of_l2(const gm_device_properties *device, double bytes)
{
    return bytes <= 4 * (double)device->l2_bytes;
}

#endif
