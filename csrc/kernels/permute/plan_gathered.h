/* permute: the tiles of gathered_tile.h. */
#ifndef GPUMEM_PERMUTE_PLAN_GATHERED_H
#define GPUMEM_PERMUTE_PLAN_GATHERED_H

#include "permute/plan_layout.h"

/* Of a layout of which the matrices have the axes 0 and `closest`. */
permute_gathered permute_plan_gathered(const permute_layout *layout, int closest,
                                       const gm_device_properties *device);

/* The size of equal parts of an extent, of about `wanted` units each, rounded up to a multiple. */
uint32_t permute_share_of(int64_t extent, int64_t wanted, int64_t multiple);

/* By how many units the places in vectors differ of neighbouring columns, for rows and columns that
 * are so many bytes apart in the input, and in the result: see plan_gathered.c. */
uint64_t permute_places_differ(int64_t from_row, int64_t to_column, int unit);

/* log2 of how far apart the columns are that a warp stores together, so that its lanes read
 * different banks. */
uint32_t permute_columns_apart(int64_t from_row, int64_t to_column, int unit);

/* What these tiles take for narrow matrices, and where lanes share banks, beside what instances
 * say. */
double permute_gathered_time(const permute_layout *layout, int closest);

/* Bytes of shared memory. */
size_t permute_gathered_bytes(const permute_gathered *shape, int unit);

#endif
