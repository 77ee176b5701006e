/* all threads write one flag, even if the same value */
#include "../probe.h"

GM_KERNEL(race_same_byte, probe_args)
{
    int64_t i = probe_index();

    __shared__ char flag;
    flag = 1;
    __syncthreads();
    if (i < a.n) {
        a.out[i] = flag;
    }
}
