/* reads a word whose bytes were written one by one */
#include "../probe.h"

GM_KERNEL(written_byte_by_byte, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ int held[64];
    unsigned char *bytes = (unsigned char *)held;
    for (int k = 0; k < 4; k++) {
        bytes[4 * t + k] = (unsigned char)k;
    }
    if (i < a.n) {
        a.out[i] = (float)held[t];
    }
}
