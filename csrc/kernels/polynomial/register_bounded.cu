/*
 * polynomial / register_bounded: the same, held to 32 registers per thread.
 *
 * Follows  register.
 * Idea     __launch_bounds__(256, 8) has eight blocks of 256 threads share a multiprocessor: each
 *          thread has 32 registers, and what does not fit is spilled to local memory.
 * Cost     attributes() shows fewer registers, higher occupancy, and the spilled bytes.
 * Machine  STL, LDL
 */
#include "registers.h"

GM_KERNEL_BOUNDED(polynomial_register_bounded, polynomial_args, 256, 8)
{
    IN_REGISTERS(in_registers)
}
