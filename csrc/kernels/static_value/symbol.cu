/*
 * static_value / symbol: copies to a symbol and from it.
 *
 * Idea     host and device code know a __device__ variable by its name: cudaMemcpyToSymbol writes
 *          it, cudaMemcpyFromSymbol reads it.
 */
#include "static_value.h"

GM_VARIABLE(double, static_value_by_name, 1)

GM_KERNEL(static_value_symbol, static_value_args)
{
    static_value_add_two(static_value_by_name, a.type);
}
