/* blocks store bytes, and the last byte of one is the first of the next */
#include "../probe.h"

GM_KERNEL(race_blocks_share_a_byte, probe_args)
{
    unsigned char *bytes = (unsigned char *)a.out;
    if (threadIdx.x < 4) {
        bytes[3 * blockIdx.x + threadIdx.x] = 1;
    }
}
