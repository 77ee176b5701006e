/* 16 bytes per thread */
#include "../probe.h"

GM_KERNEL(pattern_vector4, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n / 4) {
        ((float4 *)a.out)[i] = ((const float4 *)a.in)[i];
    }
}
