/* lane t loads the 4-byte word at offset + t * stride */
#include "../probe.h"

GM_CONSTANT(float, words_table, 4096)

GM_KERNEL(constant_words, probe_args)
{
    a.out[threadIdx.x] = words_table[a.offset + threadIdx.x * a.stride];
}
