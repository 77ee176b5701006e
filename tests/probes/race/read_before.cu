/* a thread reads an element that its neighbour writes later */
#include "../probe.h"

GM_KERNEL(race_read_before, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float held[64];
    float next = held[(t + 1) % 64];
    held[t] = i < a.n ? a.in[i] : 0;
    __syncthreads();
    if (i < a.n) {
        a.out[i] = next + held[t];
    }
}
