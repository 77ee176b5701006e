/* all blocks read the same input, and each stores its own part */
#include "../probe.h"

GM_KERNEL(order_blocks_read_one, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = a.in[i] + a.in[0];
    }
}
