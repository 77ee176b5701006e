/* the second block stores far outside */
#include "../probe.h"

GM_KERNEL(fault_write_far_away, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = 0;
        if (i == 300) {
            a.out[i + ((int64_t)1 << 40)] = 1;
        }
    }
}
