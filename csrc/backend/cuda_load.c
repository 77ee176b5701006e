/*
 * Loads the code of all kernels at a device's first launch.
 *
 * CUDA would load each at its own first launch, and does not survive it if the device is full by
 * then: some launches fail for want of memory, but others end the context with an illegal address.
 */
#include "backend/kernel_list.h"
#include "cuda_internal.h"

enum { CODE = 32 << 20 }; /* bytes of device memory; the kernels take 10 MiB of an H200's */

gm_status gm_cuda_make_room(const gm_cuda_device *device, size_t bytes, const char *what)
{
    size_t available, total;
    CHECK(cudaMemGetInfo(&available, &total));
    if (available < bytes && device->pool) { /* which may hold memory that nobody uses */
        CHECK(cudaStreamSynchronize(cudaStreamLegacy));
        CHECK(cudaMemPoolTrimTo(device->pool, 0));
        CHECK(cudaMemGetInfo(&available, &total));
    }
    if (available >= bytes) {
        return GM_OK;
    }
    gm_fail(GM_ERROR_MEMORY,
            "out of device memory: %s takes up to %zu MiB, %.1f MiB of %.2f GiB are free", what,
            bytes >> 20, (double)available / (1 << 20), (double)total / (1 << 30));
    return gm_cuda_annotate(GM_ERROR_MEMORY, cudaErrorMemoryAllocation, false,
                            "cudaMemGetInfo(&available, &total)");
}

/* Errors of one kernel, which its launch tells, too: that there is no code for this device. */
static bool is_of_the_kernel(cudaError_t error)
{
    switch (error) {
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilationDisabled:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorSymbolNotFound: return true;
    default: return false;
    }
}

static gm_status load_all(gm_cuda_device *device)
{
    struct cudaFuncAttributes unused;
    TRY(gm_cuda_make_room(device, CODE, "the code of gpumem's kernels"));
    for (const gm_kernel_list *list = gm_listed_kernels(); list; list = list->next) {
        for (const void *const *kernel = list->kernels; *kernel; kernel++) {
            cudaError_t error = cudaFuncGetAttributes(&unused, *kernel); /* it has to load it */
            if (!gm_cuda_succeeded(error) && !is_of_the_kernel(error)) {
                return gm_cuda_failure(error, "cudaFuncGetAttributes(&attributes, kernel)", NULL);
            }
        }
    }
    return GM_OK;
}

/* To compile all kernels would take the driver minutes: it compiles each at its first launch. */
static gm_status leave_to_driver(gm_cuda_device *device)
{
    (void)device;
    return GM_OK;
}

gm_status gm_cuda_load(void)
{
    gm_cuda_device *device;
    const gm_device_properties *properties;
    TRY(gm_cuda_here(&device));
    if (atomic_load_explicit(&device->has_kernels, memory_order_acquire)) {
        return GM_OK;
    }
    TRY(gm_cuda_properties(device->index, &properties));
    return gm_cuda_prepare(device, &device->has_kernels,
                           gm_cuda_has_machine_code(properties) ? load_all : leave_to_driver);
}
