/* the two halves of a warp shift independently */
#include "../probe.h"

GM_KERNEL(barrier_warp_halves, probe_args)
{
    int64_t i = probe_index();
    unsigned mask = threadIdx.x % 32 < 16 ? 0x0000ffffu : 0xffff0000u;
    float value = i < a.n ? a.in[i] : 0;

    if (threadIdx.x % 32 < 16) {
        value = __shfl_down_sync(mask, value, 1, 16);
    } else {
        value = __shfl_sync(mask, value, 3, 16);
    }
    if (i < a.n) {
        a.out[i] = value;
    }
}
