/* permute: pixels of many channels, to planes or back. */
#ifndef GPUMEM_PERMUTE_PLAN_CHANNELS_H
#define GPUMEM_PERMUTE_PLAN_CHANNELS_H

#include "permute/plan_layout.h"

/* The time it takes, in multiples of a copy's; INFINITY if it is no images of that kind. */
double permute_channels_time(const permute_layout *layout, const gm_call *call);

/* Are they images of a few channels, which are too short for a tile each, and faster by words than
 * by packed? */
bool permute_are_short_images(const permute_layout *layout);

/* Is it one image, and channels faster than the family transpose? */
bool permute_prefers_channels(const permute_layout *layout, const gm_call *call);

/* Is one matrix faster by this row, or by pixels, than by the family transpose? */
bool permute_has_channels(const permute_layout *layout, const gm_call *call);

/* The row of the ladder and its instances. */
gm_status permute_takes_channels(const gm_variant *variant, const gm_call *call);
int permute_pick_channels(const gm_call *call);
void permute_plan_channels(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
