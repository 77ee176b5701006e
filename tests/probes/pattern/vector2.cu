/* 8 bytes per thread */
#include "../probe.h"

GM_KERNEL(pattern_vector2, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n / 2) {
        ((float2 *)a.out)[i] = ((const float2 *)a.in)[i];
    }
}
