/* traps where an element is 1 */
#include "../probe.h"

GM_KERNEL(survival_trap, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = a.in[i];
        if (a.in[i] == 1) {
            __builtin_trap();
        }
    }
}
