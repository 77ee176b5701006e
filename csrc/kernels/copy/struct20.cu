/*
 * copy / struct20: a struct of five floats per thread and step.
 *
 * Follows  struct12.
 * Idea     as struct12, with five requests of 20 sectors each, of which each uses a fifth.
 * Padding  to struct32: two requests instead of five, for 1.6 times the bytes in memory.
 * Machine  LDG.E, STG.E
 */
#include "copy.h"

struct record {
    uint32_t part[5];
};

static_assert(sizeof(record) == 20 && alignof(record) == 4, "no padding");

GM_KERNEL(copy_struct20, copy_args)
{
    copy_records<record>(a);
}
