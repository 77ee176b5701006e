/* permute: banks of shared memory that the lanes of a tile of joined_tile.h read. */
#ifndef GPUMEM_PERMUTE_PLAN_BANKS_H
#define GPUMEM_PERMUTE_PLAN_BANKS_H

#include <stddef.h>

#include "permute/permute.h"

/* Where lines hold several rows: gaps between lines, and columns that a warp stores together, so
 * that its lanes read different banks. A tile may have `room` bytes. Lines are `pitch` bytes apart
 * in the input, columns `across` in the result. */
void permute_choose_banks(permute_joined_args *args, int unit, int64_t pitch, int64_t across,
                          size_t room);

/* Bytes of shared memory. */
size_t permute_joined_bytes(const permute_joined_args *args);

#endif
