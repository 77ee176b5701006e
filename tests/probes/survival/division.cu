/* divides by an element, which may be 0 */
#include "../probe.h"

GM_KERNEL(survival_division, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        int divisor = (int)a.in[i];
        a.out[i] = 1000 / divisor;
    }
}
