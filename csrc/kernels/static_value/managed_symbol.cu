/*
 * static_value / managed_symbol: a variable that host and device share.
 *
 * Follows  symbol_address.
 * Idea     __device__ __managed__: the host writes and reads it by its name, and its page migrates
 *          to whoever touches it. There is no explicit copy, but the host must wait for the kernel.
 */
#include "static_value.h"

GM_MANAGED(double, static_value_of_both, 1)

GM_KERNEL(static_value_managed_symbol, static_value_args)
{
    static_value_add_two(static_value_of_both, a.type);
}
