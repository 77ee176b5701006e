/*
 * add / zero_copy: the kernel reads and writes host memory.
 *
 * Follows  explicit, which writes everything to device memory before it adds.
 * Idea     page-locked memory has an address on the device too, the same one. Each load crosses the
 *          bus, which pays where a number is used once, and in order: loads, arithmetic and stores
 *          overlap by themselves, and no device memory is needed.
 * Cost     what is read twice crosses the bus twice.
 */
#include "add.h"

GM_KERNEL(add_zero_copy, add_args)
{
    add_arrays(a);
}
