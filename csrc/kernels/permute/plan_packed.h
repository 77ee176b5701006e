/* permute: the tiles of packed. */
#ifndef GPUMEM_PERMUTE_PLAN_PACKED_H
#define GPUMEM_PERMUTE_PLAN_PACKED_H

#include "permute/plan_layout.h"

/* False if the layout has no such tiles: too many axes, or places too far apart for 32 bits. The
 * cost is what tiles take beyond a copy, as a share of its time. */
bool permute_plan_packed(const permute_layout *layout, const gm_device_properties *device,
                         permute_packed_args *args, double *cost);

size_t permute_packed_shared(const permute_packed_args *args);

#endif
