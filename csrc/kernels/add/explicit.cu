/*
 * add / explicit: device memory, and copies there and back.
 *
 * Idea     a host array is copied to the device at once, at the full rate of the bus, the kernel
 *          runs at the speed of device memory, and the sum is copied back. The caller makes the
 *          copies: device arrays need none.
 * Machine  LDG.E.128, STG.E.128
 */
#include "add.h"

GM_KERNEL(add_explicit, add_args)
{
    gm_wait_for_previous();
    add_arrays(a);
}
