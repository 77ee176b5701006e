/* each lane loads 8 bytes at offset + t * stride */
#include "../probe.h"

GM_CONSTANT(double, words2_table, 4096)

GM_KERNEL(constant_words2, probe_args)
{
    a.out[threadIdx.x] = (float)words2_table[a.offset + threadIdx.x * a.stride];
}
