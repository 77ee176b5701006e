/* lane k loads k + 1 times: the n-th load of each lane is one request */
#include "../probe.h"

GM_KERNEL(pattern_triangle, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        float sum = 0;
        for (int64_t k = 0; k <= i % 32; k++) {
            sum += a.in[i / 32 * 32 + k];
        }
        a.out[i] = sum;
    }
}
