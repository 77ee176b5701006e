/* counts the lanes of the warp with a positive number; negative if all have one */
#include "../probe.h"

GM_KERNEL(barrier_votes, probe_args)
{
    int64_t i = probe_index();
    bool positive = i < a.n && a.in[i] > 0;
    unsigned votes = __ballot_sync(0xffffffffu, positive);
    float count = 0;

    for (int lane = 0; lane < 32; lane++) {
        count += votes >> lane & 1;
    }
    if (__all_sync(0xffffffffu, positive)) {
        count = -count;
    }
    if (!__any_sync(0xffffffffu, positive)) {
        count = 100;
    }
    if (i < a.n) {
        a.out[i] = count;
    }
}
