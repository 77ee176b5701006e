/*
 * Tensor maps: descriptions of matrices and stacks of them for Hopper's copy engine. The driver
 * encodes them; its function is looked up at run time, so that the module loads without a driver.
 */
#include <cuda.h>

#include "cuda_internal.h"
#include "fork_lock.h"

typedef CUresult (*encode_tiled)(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                 void *address, const cuuint64_t *extents,
                                 const cuuint64_t *strides, const cuuint32_t *box,
                                 const cuuint32_t *steps, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                 CUtensorMapFloatOOBfill fill);

_Static_assert(sizeof(CUtensorMap) == sizeof(gm_tensor_map), "a tensor map is 128 bytes");

GM_CHILD_LOCK(lock);
static encode_tiled encode;

static gm_status find_encode(void)
{
    enum cudaDriverEntryPointQueryResult found;
    void *function = NULL;
    CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess || function == NULL) {
        return gm_fail(GM_ERROR_UNAVAILABLE, "this driver does not support tensor maps");
    }
    encode = (encode_tiled)function;
    return GM_OK;
}

gm_status gm_cuda_tensor_map(const gm_tensor *tensor, gm_tensor_map *map)
{
    TRY(gm_cuda_open());
    pthread_mutex_lock(&lock);
    gm_status status = encode ? GM_OK : find_encode();
    pthread_mutex_unlock(&lock);
    if (status != GM_OK) {
        return status;
    }
    CUtensorMapDataType type;
    switch (tensor->itemsize) {
    case 1: type = CU_TENSOR_MAP_DATA_TYPE_UINT8; break;
    case 2: type = CU_TENSOR_MAP_DATA_TYPE_UINT16; break;
    case 4: type = CU_TENSOR_MAP_DATA_TYPE_UINT32; break;
    case 8: type = CU_TENSOR_MAP_DATA_TYPE_UINT64; break;
    default:
        return gm_fail(GM_ERROR_VALUE, "no tensor map has elements of %d bytes", tensor->itemsize);
    }
    CUtensorMap made;
    const cuuint32_t rank = tensor->planes > 0 ? 3 : 2;
    cuuint64_t extents[] = {(cuuint64_t)tensor->width, (cuuint64_t)tensor->height,
                            (cuuint64_t)tensor->planes};
    cuuint64_t strides[] = {(cuuint64_t)tensor->pitch, (cuuint64_t)tensor->plane_pitch};
    cuuint32_t box[] = {tensor->box_width, tensor->box_height, 1};
    cuuint32_t steps[] = {1, 1, 1};
    if (tensor->planes == 1) {
        strides[1] = strides[0]; /* no copy uses it */
    }
    CUresult result =
        encode(&made, type, rank, tensor->data, extents, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE,
               tensor->swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
               CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) {
        return gm_fail(GM_ERROR_VALUE,
                       "cuTensorMapEncodeTiled refused %lld matrices of %lld x %lld elements of %d "
                       "bytes, %lld bytes from row to row, %lld from one to the next (CUresult %d)",
                       (long long)(tensor->planes > 0 ? tensor->planes : 1),
                       (long long)tensor->height, (long long)tensor->width, tensor->itemsize,
                       (long long)tensor->pitch, (long long)tensor->plane_pitch, (int)result);
    }
    __builtin_memcpy(map->opaque, &made, sizeof made);
    return GM_OK;
}
