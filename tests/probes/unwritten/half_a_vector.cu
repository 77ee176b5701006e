/* reads two floats, of which one was written */
#include "../probe.h"

GM_KERNEL(unwritten_half_a_vector, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float2 held[64];
    held[t].x = i < a.n ? a.in[i] : 0;
    float2 both = held[t];
    if (i < a.n) {
        a.out[i] = both.x;
    }
}
