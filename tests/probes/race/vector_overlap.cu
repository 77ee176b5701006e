/* a vector of four overlaps the neighbour's element */
#include "../probe.h"

GM_KERNEL(race_vector_overlap, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ float4 held[64];
    float *parts = (float *)held;
    parts[4 * t + 4 < 256 ? 4 * t + 4 : 0] = i < a.n ? a.in[i] : 0;
    held[t] = make_float4(1, 2, 3, 4);
    __syncthreads();
    if (i < a.n) {
        a.out[i] = parts[4 * t];
    }
}
