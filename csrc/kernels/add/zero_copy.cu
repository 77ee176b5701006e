/*
 * add / zero_copy: the host's memory, where it is.
 *
 * Follows  explicit, which moves everything twice over memory before anything is added.
 * Idea     page-locked memory has an address on the device too, and it is the same one. Each load
 *          crosses the bus, so it pays where a number is used once, and in order: then loads,
 *          arithmetic and stores overlap by themselves, and no device memory is needed.
 * Cost     whatever is read twice crosses the bus twice.
 */
#include "add.h"

GM_KERNEL(add_zero_copy, add_args)
{
    add_arrays(a);
}
