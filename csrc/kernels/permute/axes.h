/* permute: its parameters, which are the axes. Each has several, an eighth of its bits for one. */
#ifndef GPUMEM_PERMUTE_AXES_H
#define GPUMEM_PERMUTE_AXES_H

#include "gpumem.h"

enum {
    PERMUTE_AXES_EACH = 7, /* axes of a parameter */
    PERMUTE_PARAMETERS = (GM_MAX_DIMS + PERMUTE_AXES_EACH - 1) / PERMUTE_AXES_EACH,
    PERMUTE_ZERO = 128,     /* the byte of axis 0; negative axes are below */
    PERMUTE_NO_AXIS = -128, /* the byte 0: no more axes */
    PERMUTE_EMPTY = 127,    /* there are no axes at all */
};

static inline int permute_axis_of(const gm_call *call, int index)
{
    int64_t packed = call->parameters[index / PERMUTE_AXES_EACH].integer;
    return (int)(packed >> 8 * (index % PERMUTE_AXES_EACH) & 255) - PERMUTE_ZERO;
}

/* Makes the parameters of a call: the axes of its input that those of the result are. */
static inline void permute_set_axes(gm_call *call, const int *axes, int ndim)
{
    for (int i = 0; i < PERMUTE_PARAMETERS; i++) {
        call->parameters[i].integer = 0;
    }
    for (int d = 0; d < ndim; d++) {
        call->parameters[d / PERMUTE_AXES_EACH].integer |= (int64_t)(axes[d] + PERMUTE_ZERO)
                                                           << 8 * (d % PERMUTE_AXES_EACH);
    }
}

#endif
