/* permute: matrices in an array, for tiles and matrices. */
#ifndef GPUMEM_PERMUTE_PLAN_MATRICES_H
#define GPUMEM_PERMUTE_PLAN_MATRICES_H

#include "permute/plan_layout.h"

/* Estimates are multiples of a copy's time, of layouts on an H100. Work on chip takes so many times
 * as many of them where memory is faster: 1.2 on an H200, which copies 1.4 times as fast. */
double permute_pace(const gm_call *call);

/* The axis that is closest in the input, of those with more than one address; -1 if there is none.
 */
int permute_closest_axis(const permute_layout *layout);

/* All axes but the innermost one of the result and `closest`. */
permute_outer permute_outer_axes(const permute_layout *layout, int closest);

/* Are there matrices, whose rows run on in the input, one after the other in either direction? */
bool permute_has_matrices(const permute_layout *layout, int closest);

/* The rows of the ladder: what they take, which instance is best, how it is launched. */
gm_status permute_takes_matrices(const gm_variant *variant, const gm_call *call);
int permute_pick_matrices(const gm_call *call);
void permute_plan_matrices(const gm_variant *variant, const gm_call *call, gm_plan *plan);

/* How long the best instance takes, as a multiple of a copy of as many bytes; for ever if there are
 * no matrices, or too few tiles for all multiprocessors. */
double permute_matrices_time(const permute_layout *layout, const gm_call *call);

/* The same of one matrix of bytes or halves by transpose's shifted tiles, on an H200; 0 if it has
 * other kernels for so few rows or columns, or larger units. */
double permute_shifted_time(const permute_layout *layout);

#endif
