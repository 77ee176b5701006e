/*
 * scatter_add / warp_aggregated: one addition for all lanes of a warp with the same index.
 *
 * Follows  reduction, whose lanes compete where they have the same index.
 * Idea     __match_any_sync tells each lane which others have its index: its peers. Shuffles add up
 *          their elements, two by two, and the first of them adds the sum for all: a warp makes as
 *          many atomic additions as it has different indices.
 *
 *              index     3   5   3   3   5   3
 *              element   a   b   c   d   e   f
 *              step 1    a+c b+e     d+f            lanes with an odd rank leave
 *              step 2    a+c+d+f
 *
 * Cost     a match and a vote where all indices differ, and as many steps of shuffles as the
 *          largest group has halves.
 * Machine  MATCH.ANY.U64, SHFL.IDX, REDG.E.ADD
 */
#include "scatter_add.h"

enum : unsigned { ALL_LANES = 0xffffffffu };

/* The sum over the lanes of `peers`, one of which is this, in the first of them. All lanes of the
 * warp call this. */
template <typename number> GM_DEVICE number sum_of_peers(number sum, unsigned peers, int lane)
{
    unsigned rank = (unsigned)__popc(peers & ((1u << lane) - 1));
    unsigned behind = peers & (0xfffffffeu << lane);

    while (__any_sync(ALL_LANES, behind != 0)) {
        const int next = behind ? __ffs((int)behind) - 1 : lane;
        const number other = __shfl_sync(ALL_LANES, sum, next);
        sum += behind ? other : (number)0;
        behind &= __ballot_sync(ALL_LANES, rank % 2 == 0);
        rank /= 2;
    }
    return sum;
}

template <typename number, typename integer, bool checked>
GM_DEVICE void add(const scatter_add_args &a)
{
    number *out = (number *)a.out;
    const int lane = threadIdx.x % 32;

    /* All lanes take part as long as there is an element for the first: those behind the end have
     * one another as peers, and add to nothing. */
    for (int64_t k = gm_grid_index(); k - lane < a.count; k += gm_grid_stride()) {
        const bool there = k < a.count;
        const int64_t place = there ? scatter_add_place<integer, checked>(a, k) : -1;
        const number element = there ? ((const number *)a.in)[k] : (number)0;
        const unsigned peers = __match_any_sync(ALL_LANES, place);
        const number sum = sum_of_peers(element, peers, lane);
        if (there && lane == __ffs((int)peers) - 1) {
            atomicAdd(&out[place], sum);
        }
    }
}

GM_KERNEL(scatter_add_warp_aggregated, scatter_add_args)
{
    SCATTER_ADD_BY_TYPE(add, a)
}
