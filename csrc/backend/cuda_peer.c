/*
 * The memory of other devices. Which devices can access the memory of a pool is set on the pool;
 * cudaDeviceEnablePeerAccess does not apply to it.
 */
#include "cuda_internal.h"

gm_status gm_cuda_can_reach(int device, int other, bool *can)
{
    int able = 0;
    cudaMemPool_t pool;

    TRY(gm_cuda_find_pool(device, &pool)); /* fails if there is no such device */
    TRY(gm_cuda_find_pool(other, &pool));
    if (device != other && pool != NULL) {
        CHECK(cudaDeviceCanAccessPeer(&able, device, other));
    }
    *can = device == other || able;
    return GM_OK;
}

gm_status gm_cuda_let_reach(int device, int other, bool on, bool *before)
{
    cudaMemPool_t pool;
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    struct cudaMemLocation location = {.type = cudaMemLocationTypeDevice, .id = device};
    bool can;

    TRY(gm_cuda_can_reach(device, other, &can));
    *before = device == other;
    if (!can || (*before && !on)) {
        return gm_fail(GM_ERROR_VALUE, "device %d %s the memory of device %d", device,
                       can ? "always reaches" : "cannot reach", other);
    }
    if (device != other) {
        TRY(gm_cuda_find_pool(other, &pool));
        CHECK(cudaMemPoolGetAccess(&flags, pool, &location));
        *before = flags == cudaMemAccessFlagsProtReadWrite;
    }
    if (*before != on) {
        struct cudaMemAccessDesc access = {
            .location = location,
            .flags = on ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone,
        };
        CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    }
    return GM_OK;
}

/* Not cudaMemcpyAsync, which assumes that the current device can access a pool's memory. */
gm_status gm_cuda_send(void *to, int device, const void *from, int64_t bytes, gm_stream stream)
{
    gm_cuda_device *here;
    TRY(gm_cuda_here(&here));
    if (bytes > 0) {
        CHECK(cudaMemcpyPeerAsync(to, device, from, here->index, (size_t)bytes, stream));
    }
    return GM_OK;
}
