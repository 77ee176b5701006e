/* permute: the plan of shifted. */
#ifndef GPUMEM_PERMUTE_PLAN_SHIFTED_H
#define GPUMEM_PERMUTE_PLAN_SHIFTED_H

#include "permute/plan_layout.h"

/*
 * The innermost axes of a layout that lie together in the input, as they do in the result:
 *
 *     a single unit            axes 0
 *     units, either way        axes 1
 *     pixels                   axes 2, the pixel's units in the opposite order to that of the row
 *     bytes picked from pixels axes 2, or 1 if it is one of each; the result has no gaps
 */
typedef struct permute_shifted_row {
    int axes;
    int64_t bytes;
    int pixel;  /* units; 1: there are none, or one is picked */
    int picked; /* 0, or the bytes of a pixel of which some are picked */
    bool backwards;
} permute_shifted_row;

permute_shifted_row permute_shifted_row_of(const permute_layout *layout);

gm_status permute_takes_shifted(const gm_variant *variant, const gm_call *call);
void permute_plan_shifted(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
