/* every third lane loads a word of its own */
#include "../probe.h"

GM_CONSTANT(float, some_table, 4096)

GM_KERNEL(constant_some_lanes, probe_args)
{
    if (threadIdx.x % 3 == 0) {
        a.out[threadIdx.x] = some_table[a.offset + threadIdx.x * a.stride];
    }
}
