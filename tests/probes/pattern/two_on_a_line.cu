/* two loads on one source line */
#include "../probe.h"

GM_KERNEL(pattern_two_on_a_line, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        a.out[i] = a.in[i] + a.in[(i + 1) % a.n];
    }
}
