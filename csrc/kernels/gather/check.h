/* The check of indices, for all families whose kernels follow them. */
#ifndef GPUMEM_GATHER_CHECK_H
#define GPUMEM_GATHER_CHECK_H

#include "gpumem.h"

/* Are all values of an input on the device, an index, from `least` to length - 1? GM_ERROR_INDEX
 * names the first that is not. Unsigned ones have 32 bits. Waits for the device. */
gm_status gather_check_index(const gm_call *call, int input, int64_t least, int64_t length);

#endif
