/*
 * polynomial / register_bounded: register, limited to 32 registers per thread.
 *
 * Follows  register.
 * Idea     __launch_bounds__(256, 8) makes room for eight blocks of 256 threads on a
 * multiprocessor: the compiler has 32 registers per thread and spills the rest to local memory.
 * Cost     attributes() shows fewer registers, higher occupancy, and the spilled bytes.
 * Machine  STL, LDL
 */
#include "registers.h"

GM_KERNEL_BOUNDED(polynomial_register_bounded, polynomial_args, 256, 8)
{
    IN_REGISTERS(in_registers)
}
