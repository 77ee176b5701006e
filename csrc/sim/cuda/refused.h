/* Names of CUDA that the simulator does not have. Only their use is an error: a file may include
 * the headers for its host side, or for other kernels. */
#ifndef GPUMEM_CUDA_REFUSED_H
#define GPUMEM_CUDA_REFUSED_H

#include "sim/cuda/calls.h"

#define GM_NO_TENSOR_CORES                                                                         \
    "the simulator has no tensor cores: compute the product with ordinary arithmetic"

namespace nvcuda {
namespace wmma {
struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;

enum layout_t {
    mem_row_major,
    mem_col_major,
};

namespace precision {
struct tf32;
struct u4;
struct s4;
struct b1;
} // namespace precision

template <typename use, int m, int n, int k, typename type, typename layout = void>
class GM_REFUSED(GM_NO_TENSOR_CORES) fragment {
};

GM_REFUSE_FUNCTION(fill_fragment, GM_NO_TENSOR_CORES)
GM_REFUSE_FUNCTION(load_matrix_sync, GM_NO_TENSOR_CORES)
GM_REFUSE_FUNCTION(store_matrix_sync, GM_NO_TENSOR_CORES)
GM_REFUSE_FUNCTION(mma_sync, GM_NO_TENSOR_CORES)
GM_REFUSE_FUNCTION(bmma_sync, GM_NO_TENSOR_CORES)
} // namespace wmma
} // namespace nvcuda

struct GM_REFUSED("the simulator gives loaded kernels no tensor maps: copy with "
                  "cuda::memcpy_async") CUtensorMap {
    unsigned long long opaque[16];
};

#define GM_REFUSE_CUB(name)                                                                        \
    template <typename type, auto... options>                                                      \
    class GM_REFUSED("CUB does not run on the simulator: write cub::" #name                        \
                     " with shuffles or cooperative groups") name {                                \
    };

namespace cub {
enum BlockReduceAlgorithm {
    BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
};

enum BlockScanAlgorithm {
    BLOCK_SCAN_RAKING,
    BLOCK_SCAN_RAKING_MEMOIZE,
    BLOCK_SCAN_WARP_SCANS,
};

GM_REFUSE_CUB(BlockReduce)
GM_REFUSE_CUB(BlockScan)
GM_REFUSE_CUB(BlockLoad)
GM_REFUSE_CUB(BlockStore)
GM_REFUSE_CUB(BlockHistogram)
GM_REFUSE_CUB(BlockExchange)
GM_REFUSE_CUB(BlockRadixSort)
GM_REFUSE_CUB(WarpReduce)
GM_REFUSE_CUB(WarpScan)
} // namespace cub

#endif
