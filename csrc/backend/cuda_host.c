/* Host memory that the device can reach: page-locked, and managed. */
#include <stdio.h>
#include <unistd.h>

#include "cuda_internal.h"

static gm_status out_of_memory(const char *what, int64_t asked, cudaError_t error, const char *call)
{
    const double gib = 1 << 30;
    int64_t available = (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
    cudaGetLastError();
    gm_fail(GM_ERROR_MEMORY,
            "out of %s host memory: asked for %lld bytes (%.2f GiB), %lld bytes (%.2f GiB) of the "
            "host's are free",
            what, (long long)asked, (double)asked / gib, (long long)available,
            (double)available / gib);
    return gm_cuda_annotate(GM_ERROR_MEMORY, error, false, call);
}

gm_status gm_cuda_host_allocate(gm_memory_kind kind, int64_t bytes, void **address)
{
    /* Portable: page-locked for every device, not only the current one. */
    static const unsigned flags[GM_MEMORY_KINDS] = {
        [GM_PINNED] = cudaHostAllocPortable,
        [GM_WRITE_COMBINED] = cudaHostAllocPortable | cudaHostAllocWriteCombined,
        [GM_MAPPED] = cudaHostAllocPortable | cudaHostAllocMapped,
    };
    gm_cuda_device *device;
    const gm_device_properties *properties;

    *address = NULL;
    TRY(gm_cuda_here(&device));
    if (kind == GM_MANAGED) {
        TRY(gm_cuda_properties(device->index, &properties));
        if (!properties->managed) {
            return gm_fail(GM_ERROR_UNAVAILABLE, "this device (%s) lacks concurrent managed access",
                           properties->name);
        }
        if (bytes >
            properties
                ->memory_bytes) { /* more could be allocated, but would never be resident at once */
            return out_of_memory("managed", bytes, cudaErrorMemoryAllocation,
                                 "cudaMallocManaged(address, bytes, cudaMemAttachGlobal)");
        }
        cudaError_t error = cudaMallocManaged(address, (size_t)bytes, cudaMemAttachGlobal);
        if (error == cudaErrorMemoryAllocation) {
            return out_of_memory("managed", bytes, error,
                                 "cudaMallocManaged(address, bytes, cudaMemAttachGlobal)");
        }
        CHECK(error);
        return GM_OK;
    }
    /* Page-locking more memory than the machine has can crash it. */
    int64_t available = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    cudaError_t error = bytes > available ? cudaErrorMemoryAllocation
                                          : cudaHostAlloc(address, (size_t)bytes, flags[kind]);
    if (error == cudaErrorMemoryAllocation) {
        return out_of_memory("page-locked", bytes, error, "cudaHostAlloc(address, bytes, flags)");
    }
    CHECK(error);
    return GM_OK;
}

/* Ignores errors, as gm_cuda_release does. */
void gm_cuda_host_release(gm_memory_kind kind, void *address)
{
    if (address == NULL || !gm_cuda_is_open()) {
        return;
    }
    (void)gm_cuda_succeeded(kind == GM_MANAGED ? cudaFree(address) : cudaFreeHost(address));
}

gm_memory_kind gm_cuda_host_kind(const void *address)
{
    struct cudaPointerAttributes found;
    if (!gm_cuda_is_open() || !gm_cuda_succeeded(cudaPointerGetAttributes(&found, address))) {
        return GM_PAGEABLE;
    }
    switch (found.type) {
    case cudaMemoryTypeHost: return GM_PINNED;
    case cudaMemoryTypeManaged: return GM_MANAGED;
    default: return GM_PAGEABLE;
    }
}

gm_status gm_cuda_migrate(void *address, int64_t bytes, bool to_device, gm_stream stream)
{
    gm_cuda_device *device;
    TRY(gm_cuda_here(&device));
    struct cudaMemLocation location = {
        .type = to_device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost,
        .id = to_device ? device->index : 0,
    };
    if (bytes > 0) {
        CHECK(cudaMemPrefetchAsync(address, (size_t)bytes, location, 0, stream));
    }
    return GM_OK;
}
