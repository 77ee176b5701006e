/*
 * copy / struct12: a struct of three floats per thread and step.
 *
 * Follows  struct16.
 * Idea     three floats have the alignment of one, so the compiler has to move the struct float by
 *          float. The lanes of a request are 12 bytes apart: it touches 12 sectors and uses a
 *          third of each. The requests for the other two floats touch the same sectors again.
 * Padding  with a fourth float and an alignment of 16 it is struct16: one request instead of
 *          three, for a third more bytes in memory.
 * Machine  LDG.E, STG.E
 */
#include "copy.h"

struct record {
    uint32_t part[3]; /* x, y, z */
};

static_assert(sizeof(record) == 12 && alignof(record) == 4, "no padding");

GM_KERNEL(copy_struct12, copy_args)
{
    copy_records<record>(a);
}
