/* 16 bytes per thread, of which the kernel uses 4: still one wide load */
#include "../probe.h"

GM_KERNEL(pattern_vector4_member, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n / 4) {
        float4 whole = ((const float4 *)a.in)[i];
        a.out[i] = whole.z;
    }
}
