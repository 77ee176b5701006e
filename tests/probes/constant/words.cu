/* lanes that the high half of offset names, 0 for all, load the word at offset + t * stride */
#include "../probe.h"

GM_CONSTANT(float, words_table, 4096)

GM_KERNEL(constant_words, probe_args)
{
    uint32_t lanes = (uint32_t)(a.offset >> 32);
    if (lanes == 0 || (lanes >> threadIdx.x & 1)) {
        a.out[threadIdx.x] = words_table[(uint32_t)a.offset + threadIdx.x * a.stride];
    }
}
