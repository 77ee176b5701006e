/* loads 16 bytes from an address that is only a multiple of 4 */
#include "../probe.h"

GM_KERNEL(fault_vector_misaligned, probe_args)
{
    int64_t i = probe_index();
    if (4 * i + 8 <= a.n) {
        const float4 *from = (const float4 *)(a.in + 4 * i + (i == 3));
        float4 whole = *from;
        a.out[i] = whole.x;
    }
}
