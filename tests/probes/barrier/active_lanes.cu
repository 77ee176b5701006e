/* how many lanes take the same side of a branch, before and after the first half has gone */
#include "../probe.h"

GM_KERNEL(barrier_active_lanes, probe_args)
{
    int64_t i = probe_index();
    float active = 0;

    if (i >= a.n) {
        return;
    }
    if (a.in[i] > 0) {
        active = __builtin_popcount(gm_sim_active_lanes(__FILE__, __LINE__));
    } else {
        active = -__builtin_popcount(gm_sim_active_lanes(__FILE__, __LINE__));
    }
    if (threadIdx.x % 32 >= 16) {
        active += 100 * __builtin_popcount(gm_sim_active_lanes(__FILE__, __LINE__));
    }
    a.out[i] = active;
}
