/*
 * static_value / symbol_address: the address of the symbol, then ordinary copies.
 *
 * Follows  symbol.
 * Idea     cudaGetSymbolAddress returns the variable's address: every function that takes a pointer
 *          can use it.
 */
#include "static_value.h"

GM_VARIABLE(double, static_value_by_address, 1)

GM_KERNEL(static_value_symbol_address, static_value_args)
{
    static_value_add_two(static_value_by_address, a.type);
}
