/* even lanes load once, then twice after a barrier of the warp; odd lanes twice, then once */
#include "../probe.h"

GM_KERNEL(pattern_warp_meets, probe_args)
{
    int64_t i = probe_index();
    float sum = 0;
    for (int64_t phase = 0; phase < 2; phase++) {
        for (int64_t k = 0; k <= (i + phase) % 2; k++) {
            sum += a.in[(i + k) % a.n];
        }
        __syncwarp();
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
