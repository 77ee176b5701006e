/* permute: the tiles of packed. */
#ifndef GPUMEM_PERMUTE_PLAN_PACKED_H
#define GPUMEM_PERMUTE_PLAN_PACKED_H

#include "permute/plan_layout.h"

/* False if the layout has no such tiles: too many axes, or places too far apart for 32 bits. */
bool permute_plan_packed(const permute_layout *layout, const gm_device_properties *device,
                         permute_packed_args *args);

/* Bytes that lie together in a tile, on the side where these are fewer. */
int64_t permute_packed_run(const permute_packed_args *args);

size_t permute_packed_shared(const permute_packed_args *args);

#endif
