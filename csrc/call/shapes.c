/* Arithmetic of shapes, addresses and grids that the families share. */
#include <stdio.h>

#include "backend/backend.h"
#include "gpumem.h"

void gm_print_shape(const gm_array *array, char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "(");
    for (int d = 0; d < array->ndim && used < room; d++) {
        used += (size_t)snprintf(text + used, room - used, "%lld%s", (long long)array->shape[d],
                                 array->ndim == 1      ? ","
                                 : d + 1 < array->ndim ? ", "
                                                       : "");
    }
    if (used < room) {
        snprintf(text + used, room - used, ")");
    }
}

gm_status gm_expect_dimensions(const gm_call *call, int input, int ndim, const char *what)
{
    const int given = call->in[input].ndim;
    return given == ndim
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE, "%s has %d dimension%s, expected %d%s",
                         call->family->inputs[input].name, given, GM_PLURAL(given), ndim, what);
}

int gm_width_dividing(uintptr_t bits)
{
    int width = 16;
    while (bits & (uintptr_t)(width - 1)) {
        width /= 2;
    }
    return width;
}

unsigned gm_grid_blocks(const gm_variant *variant, const gm_call *call, int64_t elements,
                        int64_t max_blocks)
{
    int64_t per_block = (int64_t)variant->block.x * variant->elements;
    if (per_block == 0) {
        return 1; /* no kernel of its own */
    }
    int64_t blocks = elements / per_block + (elements % per_block != 0);
    int64_t cap = max_blocks;
    if (cap == 0) {
        cap = variant->blocks ? (int64_t)variant->blocks * call->device->multiprocessors
                              : call->device->max_grid_x;
    }
    blocks = blocks < cap ? blocks : cap;
    return blocks > 0 ? (unsigned)blocks : 1;
}
