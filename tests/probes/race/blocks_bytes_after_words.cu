/* a block stores words, and the next block one byte of a word */
#include "../probe.h"

GM_KERNEL(race_blocks_bytes_after_words, probe_args)
{
    int64_t i = probe_index();

    unsigned char *bytes = (unsigned char *)a.out;
    if (blockIdx.x == 0) {
        a.out[i] = 1;
    } else if (blockIdx.x == 1 && threadIdx.x == 0) {
        bytes[21] = 1;
    }
}
