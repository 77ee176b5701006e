/* each block stores one element too many: the next block's first */
#include "../probe.h"

GM_KERNEL(race_blocks_overlap, probe_args)
{
    int64_t i = probe_index();

    a.out[i] = 1;
    if (threadIdx.x == 63 && i + 1 < a.n) {
        a.out[i + 1] = 2;
    }
}
