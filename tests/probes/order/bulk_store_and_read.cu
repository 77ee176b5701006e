/* threads may read what a bulk store is reading */
#include "../probe.h"

#include "bulk.h"

GM_KERNEL(order_bulk_store_and_read, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ __align__(16) float chunk[64];
    chunk[t] = a.in[i];
    gm_bulk_fence();
    __syncthreads();
    if (t == 0) {
        gm_bulk_store(a.out + 64 * blockIdx.x, chunk, 256, gm_evict_first());
    }
    float mirrored = chunk[63 - t];
    if (t == 0) {
        gm_bulk_wait_read();
    }
    if (mirrored != mirrored) {
        a.out[i] = 0;
    }
}
