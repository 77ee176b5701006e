/*
 * add / explicit: device memory, and copies there and back.
 *
 * Idea     an array of the host travels to the device in one piece, as fast as the bus goes, the
 *          kernel runs at the speed of the device's own memory, and the sum travels back. The
 *          copies are the caller's: on device arrays there are none.
 * Machine  LDG.E.128, STG.E.128
 */
#include "add.h"

GM_KERNEL(add_explicit, add_args)
{
    gm_wait_for_previous();
    add_arrays(a);
}
