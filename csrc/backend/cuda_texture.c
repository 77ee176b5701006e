/*
 * Textures. The matrix is copied into a CUDA array, which is stored in tiles instead of rows, so
 * that neighbours in both directions are near each other in memory. Making an array takes longer
 * than most copies, so each device keeps its last one.
 */
#include "cuda_internal.h"

typedef struct kept_texture {
    cudaArray_t array;
    cudaTextureObject_t object;
    int width, height;
} kept_texture;

static kept_texture kept[GM_SERIALIZER_DEVICES]; /* callers serialize their use */

static gm_status forget(kept_texture *texture, gm_stream stream)
{
    if (texture->object != 0) {
        CHECK(cudaStreamSynchronize(stream)); /* its last reader is before this on the stream */
        CHECK(cudaDestroyTextureObject(texture->object));
        texture->object = 0;
    }
    if (texture->array != NULL) {
        CHECK(cudaFreeArray(texture->array));
        texture->array = NULL;
    }
    texture->width = texture->height = 0;
    return GM_OK;
}

static gm_status make(kept_texture *texture, int width, int height)
{
    struct cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaTextureDesc reading = {
        .addressMode = {cudaAddressModeClamp, cudaAddressModeClamp},
        .filterMode = cudaFilterModeLinear,
        .readMode = cudaReadModeElementType,
        .normalizedCoords = 0,
    };
    CHECK(cudaMallocArray(&texture->array, &format, (size_t)width, (size_t)height, 0));
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    resource.res.array.array = texture->array;
    CHECK(cudaCreateTextureObject(&texture->object, &resource, &reading, NULL));
    texture->width = width;
    texture->height = height;
    return GM_OK;
}

gm_status gm_cuda_texture(gm_texture *wanted, gm_stream stream)
{
    gm_cuda_device *device;
    TRY(gm_cuda_here(&device));
    if (device->index >= GM_SERIALIZER_DEVICES) {
        return gm_fail(GM_ERROR_UNAVAILABLE, "device %d is beyond the %d that can have a texture",
                       device->index, GM_SERIALIZER_DEVICES);
    }
    kept_texture *texture = &kept[device->index];
    if (texture->object == 0 || texture->width != wanted->width ||
        texture->height != wanted->height) {
        TRY(forget(texture, stream));
        TRY(make(texture, wanted->width, wanted->height));
    }
    CHECK(cudaMemcpy2DToArrayAsync(texture->array, 0, 0, wanted->data, (size_t)wanted->pitch,
                                   (size_t)wanted->width * sizeof(float), (size_t)wanted->height,
                                   cudaMemcpyDeviceToDevice, stream));
    wanted->object = texture->object;
    return GM_OK;
}
