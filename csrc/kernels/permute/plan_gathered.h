/* permute: the tiles of gathered_tile.h. */
#ifndef GPUMEM_PERMUTE_PLAN_GATHERED_H
#define GPUMEM_PERMUTE_PLAN_GATHERED_H

#include "permute/plan_layout.h"

/* Of a layout of which the matrices have the axes 0 and `closest`. */
permute_gathered permute_plan_gathered(const permute_layout *layout, int closest,
                                       const gm_device_properties *device);

enum { PERMUTE_JOINED_MOST = 1 << 30 /* units of a row: threads divide numbers of 32 bits */ };

/* Axes that follow the innermost one in the result without gaps become one with it, unless they are
 * `closest`: what they were. */
permute_joined permute_join_rows(permute_layout *layout, int *closest);

/* Rows of a planned tile are along these. */
void permute_set_joined(permute_gathered *shape, const permute_joined *joined);

/* What these tiles take for narrow matrices, and where lanes share banks, beside what instances
 * say. */
double permute_gathered_time(const permute_layout *layout, int closest);

/* Bytes of shared memory. */
size_t permute_gathered_bytes(const permute_gathered *shape, int unit);

#endif
