/*
 * polynomial / register: a register per coefficient.
 *
 * Follows  global.
 * Idea     loaded once per thread, then no memory at all but the points. Registers have no
 *          index: the number of terms is known when the kernel is compiled, 1 to 16, and the
 *          loop unrolled.
 * Cost     16 doubles are 32 registers, which cost resident warps.
 */
#include "registers.h"

GM_KERNEL(polynomial_register, polynomial_args)
{
    IN_REGISTERS(in_registers)
}
