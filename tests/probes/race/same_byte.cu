/* all threads write the same value to one flag */
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
