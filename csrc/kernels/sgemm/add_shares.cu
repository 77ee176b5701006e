/*
 * sgemm / add_shares, a helper: adds the sums of the blocks that shared a tile of C, always in the
 * same order, so that the same product is the same bits each time.
 */
#include "engine.h"

/* Up to four sums of a row: rows are padded to a multiple of four, and nobody wrote the padding. */
template <bool whole> GM_DEVICE float4 load_sums(const float *from, int count)
{
    return whole ? *(const float4 *)from : sgemm_load_some(from, count);
}

template <bool whole>
GM_DEVICE float4 add_up(const sgemm_add_shares_args &a, const float *from, int count)
{
    float4 sum = load_sums<whole>(from, count);
    for (int share = 1; share < a.shares; share++) {
        const float4 more = load_sums<whole>(from + share * a.partial, count);
        sum.x += more.x, sum.y += more.y, sum.z += more.z, sum.w += more.w;
    }
    return sum;
}

GM_KERNEL(sgemm_add_shares, sgemm_add_shares_args)
{
    const int64_t vectors = (a.product.b.lines + 3) / 4;
    const int64_t count = vectors * a.product.a.lines;
    gm_wait_for_previous();
    if (!engine_is_turn(a.turn)) {
        return;
    }
    for (int64_t i = gm_grid_index(); i < count; i += gm_grid_stride()) {
        const int64_t row = i / vectors, column = i % vectors * 4;
        const float *from = a.sums + row * a.pitch + column;
        const int left = (int)min(a.product.b.lines - column, (int64_t)4);
        const float4 sum = left == 4 ? add_up<true>(a, from, 4) : add_up<false>(a, from, left);
        const float four[4] = {sum.x, sum.y, sum.z, sum.w};
        sgemm_store4(a.product, row, column, four);
    }
}
