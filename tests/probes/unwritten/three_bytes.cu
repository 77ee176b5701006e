/* reads a word, of which three bytes were written */
#include "../probe.h"

GM_KERNEL(unwritten_three_bytes, probe_args)
{
    int t = threadIdx.x;
    int64_t i = probe_index();

    __shared__ int held[64];
    unsigned char *bytes = (unsigned char *)held;
    for (int k = 0; k < 3; k++) {
        bytes[4 * t + k] = 1;
    }
    if (i < a.n) {
        a.out[i] = (float)held[t];
    }
}
