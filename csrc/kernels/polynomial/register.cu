/*
 * polynomial / register: a register per coefficient.
 *
 * Follows  global.
 * Idea     the coefficients are loaded once per thread; after that only the points need memory.
 *          Registers cannot be indexed: there is an instance of the kernel for each number of
 *          terms, 1 to 16, with the loop unrolled.
 * Cost     16 doubles take 32 registers, which leaves room for fewer warps.
 */
#include "registers.h"

GM_KERNEL(polynomial_register, polynomial_args)
{
    IN_REGISTERS(in_registers)
}
