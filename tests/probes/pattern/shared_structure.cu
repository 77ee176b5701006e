/* a structure of 16 bytes at a multiple of 8 in shared memory, stored whole, beside dynamic shared
 * memory: compilers report it like a vector, which would have to be at a multiple of 16 */
#include "../probe.h"

typedef struct pattern_pair {
    int64_t element;
    double value;
} pattern_pair;

GM_KERNEL(pattern_shared_structure, probe_args)
{
    GM_DYNAMIC_SHARED(float, held);
    __shared__ struct {
        int64_t before;
        pattern_pair pair[256];
    } own;
    const int64_t i = probe_index();
    const float value = i < a.n ? a.in[i] : 0.0f;
    held[threadIdx.x] = value;
    own.pair[threadIdx.x] = pattern_pair{};
    own.pair[threadIdx.x].element = i;
    own.pair[threadIdx.x].value = value;
    if (i < a.n) {
        a.out[own.pair[threadIdx.x].element] =
            held[threadIdx.x] == value ? (float)own.pair[threadIdx.x].value : 0.0f;
    }
}
