/* Which arrays of the host kernels use in place, and where new results go. */
#ifndef GPUMEM_PLACE_H
#define GPUMEM_PLACE_H

#include "gpumem.h"

/* For an array of the host, described with the kind of its memory; operand is NULL for out. */
bool gm_is_used_in_place(const gm_call *call, const gm_operand *operand, const gm_array *array);

/* What memory a new result on the host should have: GM_MAPPED and GM_MANAGED are binding;
 * GM_PAGEABLE means whatever is best for a transfer. The inputs are described. */
gm_memory_kind gm_kind_of_result(const gm_call *call, bool first_input_in_place);

#endif
