/* half of the warp shuffles with lanes that never reach the shuffle */
#include "../probe.h"

GM_KERNEL(fault_shuffle_alone, probe_args)
{
    int64_t i = probe_index();
    float value = 1;
    if (threadIdx.x % 32 < 16) {
        value = __shfl_xor_sync(0xffffffffu, value, 16);
    }
    if (i < a.n) {
        a.out[i] = value;
    }
}
