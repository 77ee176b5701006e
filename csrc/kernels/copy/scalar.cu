/*
 * copy / scalar: one 32-bit word per thread and step.
 *
 * Idea     neighbouring threads take neighbouring words: the 32 lanes of a warp ask for 128
 *          bytes, which are 4 whole sectors. A grid-stride loop lets any grid cover any size.
 * Machine  LDG.E, STG.E
 */
#include "copy.h"

GM_KERNEL(copy_scalar, copy_args)
{
    const uint32_t *in = (const uint32_t *)a.in;
    uint32_t *out = (uint32_t *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(uint32_t);

    for (int64_t i = gm_grid_index(); i < n; i += gm_grid_stride()) {
        out[i] = in[i];
    }
    copy_tail(a, n * (int64_t)sizeof(uint32_t));
}
