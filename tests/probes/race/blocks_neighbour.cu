/* a block reads an element that the block before it wrote */
#include "../probe.h"

GM_KERNEL(race_blocks_neighbour, probe_args)
{
    int64_t i = probe_index();

    a.out[i] = a.in[i];
    __syncthreads();
    if (i > 0 && threadIdx.x == 0) {
        a.out[i] += a.out[i - 1];
    }
}
