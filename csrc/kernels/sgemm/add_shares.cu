/*
 * sgemm / add_shares, a helper: adds the sums of the blocks that shared a tile of C. Rows are
 * padded to a multiple of four, and nobody wrote the padding.
 */
#include "engine.h"
#include "sgemm/add_shares.h"

GM_KERNEL_BOUNDED(sgemm_add_shares, sgemm_add_shares_args, ADD_SHARES_THREADS, ADD_SHARES_RESIDENT)
{
    __shared__ float4 shared[ADD_SHARES_THREADS];
    const add_shares_part part = add_shares_find_part(a.shares, a.log_sharers);
    uint32_t row = (uint32_t)part.unit;
    const int64_t column = 4 * (int64_t)gm_take(&row, a.vectors);
    const int64_t left = row < a.product.a.lines ? a.product.b.lines - column : 0;
    gm_wait_for_previous();
    if (!engine_is_turn(a.turn)) {
        return;
    }
    const float4 sum = add_shares_all(a.sums + part.unit * 4, a.partial, part, a.log_sharers,
                                      (int)min(left, (int64_t)4), shared);
    if (part.sharer == 0 && left > 0) {
        const float four[4] = {sum.x, sum.y, sum.z, sum.w};
        sgemm_store4(a.product, row, column, four);
    }
}
