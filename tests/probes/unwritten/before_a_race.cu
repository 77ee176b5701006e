/* reads an element that no thread wrote; a race follows */
#include "../probe.h"

GM_KERNEL(unwritten_before_a_race, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    GM_DYNAMIC_SHARED(float, held);
    float value = held[t];
    __syncthreads();
    held[0] = value;
    __syncthreads();
    if (i < a.n) {
        a.out[i] = held[0];
    }
}
