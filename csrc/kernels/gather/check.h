/* The check of indices, for all families whose kernels follow them. */
#ifndef GPUMEM_GATHER_CHECK_H
#define GPUMEM_GATHER_CHECK_H

#include "gather/index.h"
#include "gpumem.h"

extern const gm_variant *const gather_helper_index_range;

/* Bytes from one element of the index to the next, over all its dimensions. */
gm_status gather_find_stride(const gm_array *index, int64_t *stride);

/* Are all values of an input on the device, an index, from `least` to length - 1? GM_ERROR_INDEX
 * names the first that is not. Unsigned ones have 32 bits. Waits for the device. */
gm_status gather_check_index(const gm_call *call, int input, int64_t least, int64_t length);

/*
 * Of families whose first parameter is the mode: what becomes of an index outside -length to
 * length - 1. Only one that raises an error is checked, and only then does the host wait.
 */
#define GATHER_MODE_PARAMETER                                                                      \
    {                                                                                              \
        .name = "mode", .least = GATHER_RAISE, .most = GATHER_MODES - 1                            \
    }
int gather_mode_of(const gm_call *call);

/* Refuses to wrap or clip an index where the input that it leads to has no elements. */
gm_status gather_mode_suits(const gm_call *call, int to, int index);

/* Is an index checked, and so short that each block of a kernel can check it all? What is counted
 * is the work without a check. */
bool gather_is_short(const gm_call *call, int input);

/* Checks an index before the launch, unless the kernel does. */
gm_status gather_check_before(const gm_call *call, int input, int64_t length, bool kernel_checks);

/*
 * Launches a kernel that checks a short index itself, from -length to length - 1, and changes
 * nothing if that is wrong (gather_is_right in index.h); waits for what it says. `verdict` is where
 * its arguments have the place for that. Which value is wrong is found afterwards; if none is any
 * more, the index was changed meanwhile, and the kernel is launched again.
 */
gm_status gather_launch_checked(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                                volatile int **verdict, int input, int64_t length);

#endif
