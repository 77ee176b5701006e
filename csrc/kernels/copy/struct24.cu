/*
 * copy / struct24: a struct of three doubles per thread and step.
 *
 * Follows  struct12.
 * Idea     the alignment of a double allows 64 bits per access: three requests of 24 sectors, where
 *          six floats would need six.
 * Padding  to struct32: two requests instead of three, for a third more bytes in memory.
 * Machine  LDG.E.64, STG.E.64
 */
#include "copy.h"

struct alignas(8) record {
    uint2 part[3]; /* doubles */
};

static_assert(sizeof(record) == 24 && alignof(record) == 8, "no padding");

GM_KERNEL(copy_struct24, copy_args)
{
    copy_records<record>(a);
}
