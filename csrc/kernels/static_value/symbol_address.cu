/*
 * static_value / symbol_address: its address, then ordinary copies.
 *
 * Follows  symbol.
 * Idea     cudaGetSymbolAddress tells where the variable is; from then on it is memory like any
 *          other, for every function that takes a pointer.
 */
#include "static_value.h"

GM_VARIABLE(double, static_value_by_address, 1)

GM_KERNEL(static_value_symbol_address, static_value_args)
{
    static_value_add_two(static_value_by_address, a.type);
}
