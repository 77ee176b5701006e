/*
 * sgemm / add_shares, a helper: adds the sums of the blocks that shared a tile of C. Rows are
 * padded to a multiple of four, and nobody wrote the padding.
 */
#include "engine.h"
#include "sgemm/add_shares.h"

GM_KERNEL(sgemm_add_shares, sgemm_add_shares_args)
{
    __shared__ float4 shared[ADD_SHARES_THREADS];
    const int64_t vectors = (a.product.b.lines + 3) / 4;
    const int64_t i = add_shares_unit(a.sharers);
    const int64_t row = i / vectors, column = i % vectors * 4;
    const int64_t left = row < a.product.a.lines ? a.product.b.lines - column : 0;
    gm_wait_for_previous();
    if (!engine_is_turn(a.turn)) {
        return;
    }
    const float4 sum = add_shares_all(a.sums + row * a.pitch + column, a.partial, a.shares,
                                      a.sharers, (int)min(left, (int64_t)4), shared);
    if (threadIdx.x < blockDim.x / a.sharers && left > 0) {
        const float four[4] = {sum.x, sum.y, sum.z, sum.w};
        sgemm_store4(a.product, row, column, four);
    }
}
