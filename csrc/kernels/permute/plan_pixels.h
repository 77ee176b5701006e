/* permute: images whose channels become planes, or planes pixels. */
#ifndef GPUMEM_PERMUTE_PLAN_PIXELS_H
#define GPUMEM_PERMUTE_PLAN_PIXELS_H

#include "permute/plan_layout.h"

/* False if the layout is something else, or nothing that whole vectors move. */
bool permute_plan_pixels(const permute_layout *layout, permute_pixels_args *args);

/* Is it the fastest way: have most lanes something to do, and is no other kernel as fast? */
bool permute_prefers_pixels(const permute_layout *layout, const permute_pixels_args *args);

/* The row of the ladder. */
gm_status permute_takes_pixels(const gm_variant *variant, const gm_call *call);
void permute_plan_row_pixels(const gm_call *call, gm_plan *plan);

#endif
