/* the halves of a warp each load one word */
#include "../probe.h"

GM_CONSTANT(float, halves_table, 4096)

GM_KERNEL(constant_halves, probe_args)
{
    a.out[threadIdx.x] = halves_table[a.offset + threadIdx.x / 16 * a.stride];
}
