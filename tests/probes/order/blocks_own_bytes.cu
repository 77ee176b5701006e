/* four blocks write four neighbouring bytes */
#include "../probe.h"

GM_KERNEL(order_blocks_own_bytes, probe_args)
{
    unsigned char *bytes = (unsigned char *)a.out;
    for (int64_t i = 4 * (int64_t)threadIdx.x + blockIdx.x % 4; i < 4 * a.n; i += 4 * 64) {
        if (blockIdx.x < 4) {
            bytes[i] = (unsigned char)(blockIdx.x + ((unsigned char *)a.in)[i] * 0);
        }
    }
}
