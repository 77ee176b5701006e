/* permute: the tiles of packed. */
#ifndef GPUMEM_PERMUTE_PLAN_PACKED_H
#define GPUMEM_PERMUTE_PLAN_PACKED_H

#include "permute/plan_layout.h"

/* False if the layout has no such tiles: too many axes, or places too far apart for 32 bits. The
 * cost is what tiles take beyond a copy, as a share of its time. Some rows may be left out: see
 * permute_packed_rest. */
bool permute_plan_packed(const permute_layout *layout, const gm_device_properties *device,
                         permute_packed_args *args, double *cost);

/* What the plan of a layout that has one leaves to another, which has no rest; false: nothing. */
bool permute_packed_rest(const permute_layout *layout, const gm_device_properties *device,
                         permute_layout *rest);

/* The launch of a plan, which there is. */
void permute_fill_packed(const permute_layout *layout, const gm_device_properties *device,
                         gm_plan *plan);

#endif
