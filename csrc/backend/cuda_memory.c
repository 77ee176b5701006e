/*
 * Device memory: the stream-ordered pool, copies and fills.
 */
#include <stdio.h>

#include "cuda_internal.h"
#include "per_thread.h"

static gm_status learn_pool(gm_cuda_device *device)
{
    int supported;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device->index));
    if (supported) {
        /* Freed memory stays in the pool: giving it back to the driver costs milliseconds. */
        size_t available, total;
        CHECK(cudaMemGetInfo(&available, &total));
        uint64_t keep = total / 2; /* at most: others use the device too */
        cudaMemPool_t pool;
        CHECK(cudaDeviceGetDefaultMemPool(&pool, device->index));
        CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
        device->pool = pool;
    }
    return GM_OK;
}

/* Unused memory of the pool counts as free. */
static cudaError_t measure(const gm_cuda_device *device, int64_t *free_bytes, int64_t *total_bytes)
{
    size_t available, total;
    uint64_t reserved = 0, used = 0;
    cudaMemPool_t pool = device->pool;

    cudaError_t error = cudaMemGetInfo(&available, &total);
    if (error == cudaSuccess && pool != NULL) {
        error = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
    }
    if (error == cudaSuccess && pool != NULL) {
        error = cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
    }
    if (error == cudaSuccess) {
        *free_bytes = (int64_t)(available + (reserved > used ? reserved - used : 0));
        *total_bytes = (int64_t)total;
    }
    return error;
}

gm_status gm_cuda_memory(int64_t *free_bytes, int64_t *total_bytes)
{
    gm_cuda_device *device;
    TRY(gm_cuda_here(&device));
    TRY(gm_cuda_prepare(device, &device->has_pool, learn_pool));
    cudaError_t error = measure(device, free_bytes, total_bytes);
    return error == cudaSuccess ? GM_OK
                                : gm_cuda_failure(error, "cudaMemGetInfo(&free, &total)", NULL);
}

static gm_status out_of_memory(const gm_cuda_device *device, size_t asked, const char *call)
{
    const double gib = 1 << 30;
    int64_t available, total;
    char left[160] = "";

    cudaGetLastError();
    if (gm_cuda_succeeded(measure(device, &available, &total))) {
        snprintf(left, sizeof left, ", %lld bytes (%.2f GiB) of %.2f GiB are free",
                 (long long)available, (double)available / gib, (double)total / gib);
    }
    gm_fail(GM_ERROR_MEMORY, "out of device memory: asked for %zu bytes (%.2f GiB)%s", asked,
            (double)asked / gib, left);
    return gm_cuda_annotate(GM_ERROR_MEMORY, cudaErrorMemoryAllocation, false, call);
}

/*
 * Allocations and releases of arrays are ordered on the legacy default stream. It waits for, and
 * holds back, every stream that is not made with cudaStreamNonBlocking, so memory released while a
 * kernel still uses it is not allocated again before that kernel has ended. Nonblocking streams,
 * which only other libraries make, are ordered by memory/device.c. What a call's kernels leave for
 * each other is ordered on the call's own stream: no other stream waits for it.
 */
static cudaError_t take(const gm_cuda_device *device, size_t bytes, gm_stream stream,
                        void **address)
{
    if (device->pool == NULL) {
        return cudaMalloc(address, bytes);
    }
    return cudaMallocAsync(address, bytes, stream ? stream : cudaStreamLegacy);
}

gm_status gm_cuda_allocate(int64_t bytes, gm_stream stream, void **address)
{
    gm_cuda_device *device;
    const gm_device_properties *properties;

    *address = NULL;
    TRY(gm_cuda_here(&device));
    TRY(gm_cuda_prepare(device, &device->has_pool, learn_pool));
    TRY(gm_cuda_properties(device->index, &properties));
    if (bytes < 0) {
        return gm_fail(GM_ERROR_VALUE, "cannot allocate %lld bytes", (long long)bytes);
    }
    size_t asked = bytes > 0 ? (size_t)bytes : 1;
    const char *call =
        device->pool ? "cudaMallocAsync(address, bytes, stream)" : "cudaMalloc(address, bytes)";

    if (bytes > properties->memory_bytes) { /* for some sizes CUDA would report an invalid value */
        return out_of_memory(device, asked, call);
    }
    cudaError_t error = take(device, asked, stream, address);
    if (error == cudaErrorMemoryAllocation && device->pool != NULL) {
        /* The pool may hold the memory: let pending releases finish, empty it, try again. */
        cudaGetLastError();
        (void)gm_cuda_succeeded(cudaStreamSynchronize(cudaStreamLegacy));
        (void)gm_cuda_succeeded(cudaStreamSynchronize(stream)); /* may be nonblocking */
        (void)gm_cuda_succeeded(cudaMemPoolTrimTo(device->pool, 0));
        error = take(device, asked, stream, address);
    }
    if (error == cudaSuccess) {
        return GM_OK;
    }
    *address = NULL;
    return error == cudaErrorMemoryAllocation ? out_of_memory(device, asked, call)
                                              : gm_cuda_failure(error, call, NULL);
}

/* The device that owns the memory, or the current one if that is unknown; and the current one. */
static void find_home(const void *address, int *home, int *current)
{
    struct cudaPointerAttributes owner;
    *home = *current = 0;
    if (gm_cuda_device_count() > 1 && gm_cuda_succeeded(cudaGetDevice(current))) {
        bool known = gm_cuda_succeeded(cudaPointerGetAttributes(&owner, address));
        *home = known && owner.device >= 0 ? owner.device : *current;
    }
}

/* Ignores errors: it runs in clean-up paths, at exit and after the context was lost. */
void gm_cuda_release(void *address, gm_stream stream)
{
    int current, home;

    if (address == NULL || !gm_cuda_is_open()) {
        return;
    }
    /* A stream of the device that owns the memory, if only the default one, is ordered with it. */
    find_home(address, &home, &current);
    bool away = home != current && gm_cuda_succeeded(cudaSetDevice(home));
    (void)gm_cuda_succeeded(gm_cuda_device_at(home)->pool != NULL
                                ? cudaFreeAsync(address, stream ? stream : cudaStreamLegacy)
                                : cudaFree(address));
    if (away) {
        (void)gm_cuda_succeeded(cudaSetDevice(current));
    }
}

/* Where there is one device: the place for an address of which the thread has asked already; NULL:
 * out of memory. */
static const void **asked_before(const void *address)
{
    enum { BITS = 6 };
    const void **asked = gm_per_thread(GM_PART_ADDRESSES, sizeof *asked << BITS);
    const uint64_t hash = (uint64_t)(uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15);
    return asked ? &asked[hash >> (64 - BITS)] : NULL;
}

/*
 * An access through a pointer that is not the device's would end the context. But asking the driver
 * takes about as long as all else that is done for an array of another library. So it is asked once
 * for an address, unless that may have become another device's meanwhile.
 */
gm_status gm_cuda_adopt(void *address, int64_t bytes, int *device)
{
    struct cudaPointerAttributes found;
    (void)bytes;
    TRY(gm_cuda_open());
    const int count = gm_cuda_device_count();
    if (*device >= 0 && *device < count) {
        return GM_OK;
    }
    const void **asked = asked_before(address);
    if (count == 1 && address && asked && *asked == address) {
        *device = 0;
        return GM_OK;
    }
    CHECK(cudaPointerGetAttributes(&found, address));
    if (found.type != cudaMemoryTypeDevice && found.type != cudaMemoryTypeManaged) {
        return gm_fail(GM_ERROR_VALUE, "address %p is not in the memory of a CUDA device", address);
    }
    *device = found.device;
    if (asked) {
        *asked = address;
    }
    return GM_OK;
}

void gm_cuda_disown(void *address, int64_t bytes)
{
    (void)address, (void)bytes;
}

gm_status gm_cuda_pool(gm_pool_sizes *sizes)
{
    gm_cuda_device *device;
    uint64_t reserved, used, limit;

    *sizes = (gm_pool_sizes){0};
    TRY(gm_cuda_here(&device));
    TRY(gm_cuda_prepare(device, &device->has_pool, learn_pool));
    if (device->pool != NULL) {
        CHECK(cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
        CHECK(cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrUsedMemCurrent, &used));
        CHECK(cudaMemPoolGetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &limit));
        *sizes = (gm_pool_sizes){(int64_t)reserved, (int64_t)used, (int64_t)limit};
    }
    return GM_OK;
}

gm_status gm_cuda_find_pool(int device, cudaMemPool_t *pool)
{
    int previous, same;
    TRY(gm_cuda_use_device(device, &previous));
    gm_cuda_device *owner = gm_cuda_device_at(device);
    gm_status status = gm_cuda_prepare(owner, &owner->has_pool, learn_pool);
    gm_status back = gm_cuda_use_device(previous, &same);
    *pool = status == GM_OK ? owner->pool : NULL;
    return status == GM_OK ? back : status;
}

gm_status gm_cuda_pool_trim(void)
{
    gm_cuda_device *device;
    TRY(gm_cuda_here(&device));
    TRY(gm_cuda_prepare(device, &device->has_pool, learn_pool));
    if (device->pool != NULL) {
        CHECK(cudaStreamSynchronize(cudaStreamLegacy)); /* completes the releases on it */
        CHECK(cudaMemPoolTrimTo(device->pool, 0));
    }
    return GM_OK;
}

static const enum cudaMemcpyKind copy_kinds[] = {
    [GM_TO_DEVICE] = cudaMemcpyHostToDevice,
    [GM_TO_HOST] = cudaMemcpyDeviceToHost,
    [GM_WITHIN] = cudaMemcpyDefault, /* includes host memory used in place */
};

gm_status gm_cuda_copy(void *to, const void *from, int64_t bytes, gm_direction direction,
                       gm_stream stream)
{
    TRY(gm_cuda_open());
    if (bytes > 0) {
        CHECK(cudaMemcpyAsync(to, from, (size_t)bytes, copy_kinds[direction], stream));
    }
    return GM_OK;
}

gm_status gm_cuda_copy_rows(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                            int64_t width, int64_t rows, gm_direction direction, gm_stream stream)
{
    TRY(gm_cuda_open());
    if (width > 0 && rows > 0) {
        CHECK(cudaMemcpy2DAsync(to, (size_t)to_pitch, from, (size_t)from_pitch, (size_t)width,
                                (size_t)rows, copy_kinds[direction], stream));
    }
    return GM_OK;
}

gm_status gm_cuda_fill(void *to, int byte, int64_t bytes, gm_stream stream)
{
    TRY(gm_cuda_open());
    if (bytes > 0) {
        CHECK(cudaMemsetAsync(to, byte, (size_t)bytes, stream));
    }
    return GM_OK;
}
