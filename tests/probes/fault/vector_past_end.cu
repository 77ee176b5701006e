/* a 16-byte load that begins inside and ends outside */
#include "../probe.h"

GM_KERNEL(fault_vector_past_end, probe_args)
{
    int64_t i = probe_index();
    if (4 * i < a.n) {
        float4 whole = ((const float4 *)a.in)[i];
        a.out[i] = whole.x;
    }
}
