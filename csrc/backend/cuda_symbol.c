/* Variables of the device, by the runtime's handles. */
#include "cuda_internal.h"

gm_status gm_cuda_symbol_address(const gm_symbol *symbol, bool traced, void **address)
{
    (void)traced;
    TRY(gm_cuda_load());
    CHECK(cudaGetSymbolAddress(address, symbol->cuda()));
    return GM_OK;
}

gm_status gm_cuda_symbol_copy(const gm_symbol *symbol, bool traced, bool into, void *memory,
                              int64_t bytes, gm_stream stream)
{
    (void)traced;
    TRY(gm_cuda_load());
    if (into) {
        CHECK(cudaMemcpyToSymbolAsync(symbol->cuda(), memory, (size_t)bytes, 0,
                                      cudaMemcpyDeviceToDevice, stream));
    } else {
        CHECK(cudaMemcpyFromSymbolAsync(memory, symbol->cuda(), (size_t)bytes, 0,
                                        cudaMemcpyDeviceToDevice, stream));
    }
    return GM_OK;
}
