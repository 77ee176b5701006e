/*
 * copy / struct32: a struct of 32 bytes per thread and step.
 *
 * Follows  struct16.
 * Idea     what struct20 and struct24 are padded to. No access is wider than 16 bytes, so a struct
 *          takes two: the lanes of each are 32 bytes apart, and use a half of their sectors.
 * Machine  LDG.E.128, STG.E.128
 */
#include "copy.h"

struct alignas(16) record {
    uint4 part[2];
};

static_assert(sizeof(record) == 32 && alignof(record) == 16, "two accesses of 16 bytes");

GM_KERNEL(copy_struct32, copy_args)
{
    copy_records<record>(a);
}
