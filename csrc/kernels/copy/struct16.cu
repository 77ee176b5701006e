/*
 * copy / struct16: 128 bits per thread and step, through a struct.
 *
 * Follows  vec4.
 * Idea     the width belongs to the type, not to the names float4 or uint4: any struct of 16
 *          bytes that promises 16-byte alignment can be moved by one instruction. Without the
 *          promise the compiler has to move it member by member.
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

    for (int64_t i = gm_grid_index(); i < n; i += gm_grid_stride()) {
        out[i] = in[i];
    }
    copy_tail(a, n * (int64_t)sizeof(record));
}
