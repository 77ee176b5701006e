/* permute: the row joined. */
#ifndef GPUMEM_PERMUTE_PLAN_JOINED_H
#define GPUMEM_PERMUTE_PLAN_JOINED_H

#include "permute/plan_layout.h"

/* What it takes, which instance it is, how that is launched. */
gm_status permute_takes_joined(const gm_variant *variant, const gm_call *call);
int permute_pick_joined(const gm_call *call);
void permute_plan_joined(const gm_variant *variant, const gm_call *call, gm_plan *plan);

/* How long it takes, as a multiple of a copy of as many bytes; for ever if it does not take the
 * layout, or there are too few tiles for all multiprocessors. */
double permute_joined_time(const permute_layout *layout, const gm_call *call);

#endif
