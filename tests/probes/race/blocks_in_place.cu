/* shifts an array in place, across the edges of blocks */
#include "../probe.h"

GM_KERNEL(race_blocks_in_place, probe_args)
{
    int64_t i = probe_index();

    float next = i + 1 < a.n ? a.out[i + 1] : 0;
    __syncthreads();
    a.out[i] = next;
}
