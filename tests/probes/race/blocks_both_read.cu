/* two blocks read an element, and then one of them writes it */
#include "../probe.h"

GM_KERNEL(race_blocks_both_read, probe_args)
{
    int64_t i = probe_index();

    if (blockIdx.x < 2) {
        float value = a.out[0];
        __syncthreads();
        if (blockIdx.x == 1 && threadIdx.x == 63) {
            a.out[0] = value + 1;
        }
        a.out[i + 1] = value;
    }
}
