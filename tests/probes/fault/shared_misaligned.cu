/* loads 8 bytes of shared memory from an address that is only a multiple of 4 */
#include "../probe.h"

GM_KERNEL(fault_shared_misaligned, probe_args)
{
    __shared__ __align__(16) float held[256];
    int64_t i = probe_index();
    held[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x < 64 && i < a.n) {
        const float2 *pair = (const float2 *)(held + 2 * threadIdx.x + (threadIdx.x == 40));
        float2 both = *pair;
        a.out[i] = both.y;
    }
}
