/* a byte is written in order; another thread reads the bytes beside it without a barrier */
#include "../probe.h"

GM_KERNEL(race_rest_of_the_word, probe_args)
{
    int t = threadIdx.x;

    __shared__ int held;
    unsigned char *bytes = (unsigned char *)&held;
    if (t == 0) {
        held = 0x01020304;
    }
    __syncwarp();
    if (t == 1) {
        bytes[0] = 5;
    }
    if (t == 32) {
        a.out[0] = bytes[3];
    }
}
