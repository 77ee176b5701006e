/* in each of two rounds all lanes load once, then some lanes once and the others twice */
#include "../probe.h"

GM_KERNEL(pattern_loop_meets, probe_args)
{
    int64_t i = probe_index();
    float sum = 0;
    for (int64_t phase = 0; phase < 2; phase++) {
        sum += a.in[(i + phase) % a.n]; /* all */
        for (int64_t k = 0; k <= (i + phase) % 2; k++) {
            sum += a.in[(i + k) % a.n]; /* once or twice */
        }
    }
    if (i < a.n) {
        a.out[i] = sum;
    }
}
