/*
 * gather / checked: a short index is checked, and followed, by one kernel.
 *
 * Follows  cached behind index_range: two launches, between which the host waits for the first.
 * Idea     each block checks the whole index, and moves its elements if all of it is in range: no
 *          block waits for another, and a wrong index moves nothing. The first one says so to the
 *          host, in memory of the host: it reads that until it changes, which takes less than
 *          waiting for the kernel's end.
 */
#include "gather.h"

GM_KERNEL(gather_checked, gather_args)
{
    /* Without a verdict the index is long, and was checked before. */
    if (a.verdict &&
        !gather_is_right(a.index, a.index_size, a.index_stride, a.count, a.length, a.verdict)) {
        return;
    }
    ACCESS_EACH_SIZE(unit, gather_unrolled<1, unit>(a))
}
