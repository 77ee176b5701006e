/* a lane is not in the mask of its own shuffle */
#include "../probe.h"

GM_KERNEL(fault_shuffle_without_lane, probe_args)
{
    int64_t i = probe_index();
    float value = __shfl_xor_sync(0x0000ffffu, 1.0f, 1);
    if (i < a.n) {
        a.out[i] = value;
    }
}
