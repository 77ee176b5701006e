/*
 * static_value / managed_symbol: a variable of both sides.
 *
 * Follows  symbol_address.
 * Idea     __device__ __managed__: the host writes and reads it by its own name, and its page moves
 *          to whoever touches it. No copy is written down; waiting for the kernel is.
 */
#include "static_value.h"

GM_MANAGED(double, static_value_of_both, 1)

GM_KERNEL(static_value_managed_symbol, static_value_args)
{
    static_value_add_two(static_value_of_both, a.type);
}
