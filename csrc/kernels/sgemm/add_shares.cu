/*
 * sgemm / add_shares, a helper: the sums of blocks that shared a tile of C, added up in their
 * order, so that the same product is the same bits each time.
 */
#include "engine.h"

GM_KERNEL(sgemm_add_shares, sgemm_add_shares_args)
{
    const int64_t vectors = (a.product.b.lines + 3) / 4;
    const int64_t count = vectors * a.product.a.lines;
    gm_wait_for_previous();
    for (int64_t i = gm_grid_index(); i < count; i += gm_grid_stride()) {
        const int64_t row = i / vectors, column = i % vectors * 4;
        const float *from = a.sums + row * a.pitch + column;
        float4 sum = *(const float4 *)from;
        for (int share = 1; share < a.shares; share++) {
            const float4 more = *(const float4 *)(from + share * a.partial);
            sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
        }
        const float four[4] = {sum.x, sum.y, sum.z, sum.w};
        sgemm_store4(a.product, row, column, four);
    }
}
