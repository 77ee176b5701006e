/* sums each element of rows of stride floats and its four neighbours */
#include "../probe.h"

GM_KERNEL(speed_stencil, probe_args)
{
    int64_t i = probe_index(), row = i / a.stride, col = i % a.stride;
    if (row > 0 && row < a.n / a.stride - 1 && col > 0 && col < a.stride - 1) {
        a.out[i] = a.in[i] + a.in[i - 1] + a.in[i + 1] + a.in[i - a.stride] + a.in[i + a.stride];
    }
}
