/* moves a float as four bytes, one after another */
#include "../probe.h"

GM_KERNEL(pattern_bytes, probe_args)
{
    int64_t i = probe_index();
    if (i < a.n) {
        for (int k = 0; k < 4; k++) {
            ((uint8_t *)a.out)[4 * i + k] = ((const uint8_t *)a.in)[4 * i + k];
        }
    }
}
