/*
 * copy / struct16: 128 bits per thread and step, through a struct.
 *
 * Follows  vec4.
 * Idea     the width comes with the type, not with the names float4 or uint4: one instruction
 *          moves any struct of 16 bytes that is declared with 16-byte alignment. Without the
 *          alignment the compiler has to move it member by member.
 * Machine  LDG.E.128, STG.E.128
 */
#include "copy.h"

struct alignas(16) record {
    int first, second;
    double third;
};

static_assert(alignof(record) == sizeof(record), "less alignment would mean narrower accesses");

GM_KERNEL(copy_struct16, copy_args)
{
    const record *in = (const record *)a.in;
    record *out = (record *)a.out;
    const int64_t n = a.bytes / (int64_t)sizeof(record);
    const int64_t threads = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        out[i] = in[i];
    }
    copy_tail(a, n * (int64_t)sizeof(record));
}
