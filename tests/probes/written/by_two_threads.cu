/* reads a vector whose parts two threads wrote */
#include "../probe.h"

GM_KERNEL(written_by_two_threads, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float2 held[64];
    ((float *)held)[t] = i < a.n ? a.in[i] : 0;
    ((float *)held)[64 + t] = i < a.n ? a.in[i] : 0;
    __syncthreads();
    float2 both = held[t];
    if (i < a.n) {
        a.out[i] = both.x + both.y;
    }
}
