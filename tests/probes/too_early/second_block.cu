/* only the first block waits */
#include "../probe.h"

GM_KERNEL(too_early_second_block, probe_args)
{
    int64_t i = probe_index();

    if (blockIdx.x == 0) {
        gm_wait_for_previous();
    }
    __syncthreads();
    if (i < a.n) {
        float value = a.in[i];
        a.out[i] = 2 * value;
    }
}
