/* structures of 16 bytes at multiples of 8 in shared memory, copied whole, beside dynamic shared
 * memory: compilers report them like vectors, which would have to be at multiples of 16 */
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
        pattern_pair copy[256];
    } own;
    const int64_t i = probe_index();
    const float value = i < a.n ? a.in[i] : 0.0f;
    held[threadIdx.x] = value;
    own.pair[threadIdx.x].element = i;
    own.pair[threadIdx.x].value = value;
    __syncthreads(); // or a compiler would keep what the thread wrote, and copy that in parts
    own.copy[threadIdx.x] = own.pair[threadIdx.x];
    __syncthreads();
    if (i < a.n) {
        a.out[own.copy[threadIdx.x].element] =
            held[threadIdx.x] == value ? (float)own.copy[threadIdx.x].value : 0.0f;
    }
}
