/*
 * Launches of kernels that are loaded at run time. Their handles are the driver's, whose function
 * is looked up at run time, so that the module loads without a driver.
 */
#include <stdio.h>

#include <cuda.h>

#include "backend/cuda_modules.h"
#include "cuda_internal.h"
#include "fork_lock.h"

typedef CUresult (*launch_kernel)(const CUlaunchConfig *config, CUfunction function, void **args,
                                  void **extra);

GM_CHILD_LOCK(lock);
static _Atomic(launch_kernel) found_launch;

static gm_status find_launch(launch_kernel *launch)
{
    enum cudaDriverEntryPointQueryResult found;
    void *function = NULL;
    CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernelEx", &function, 12000, cudaEnableDefault,
                                           &found));
    if (found != cudaDriverEntryPointSuccess || function == NULL) {
        return gm_fail(GM_ERROR_UNAVAILABLE, "this driver is too old to launch loaded kernels");
    }
    *launch = (launch_kernel)function;
    return GM_OK;
}

static gm_status get_launch(launch_kernel *launch)
{
    *launch = atomic_load_explicit(&found_launch, memory_order_acquire);
    if (*launch) {
        return GM_OK;
    }
    pthread_mutex_lock(&lock);
    gm_status status = find_launch(launch);
    if (status == GM_OK) {
        atomic_store_explicit(&found_launch, *launch, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static gm_status failure(CUresult result, const gm_cuda_module_launch *launch)
{
    char call[160], context[320];
    const gm_dim *grid = &launch->grid, *block = &launch->block;

    snprintf(call, sizeof call, "cuLaunchKernelEx(%.100s, ...)", launch->name);
    snprintf(context, sizeof context,
             "The launch of %.100s (grid %u x %u x %u, block %u x %u x %u, %zu bytes of dynamic "
             "shared memory)",
             launch->name, grid->x, grid->y, grid->z, block->x, block->y, block->z,
             launch->shared_bytes);
    /* The runtime and the driver number their errors alike. */
    return gm_cuda_failure((cudaError_t)result, call, context);
}

gm_status gm_cuda_launch_loaded(const gm_cuda_module_launch *launch)
{
    CUlaunchAttribute attributes[2];
    CUlaunchConfig config = {
        .gridDimX = launch->grid.x,
        .gridDimY = launch->grid.y,
        .gridDimZ = launch->grid.z,
        .blockDimX = launch->block.x,
        .blockDimY = launch->block.y,
        .blockDimZ = launch->block.z,
        .sharedMemBytes = (unsigned)launch->shared_bytes,
        .hStream = launch->stream,
        .attrs = attributes,
    };
    const gm_dim *cluster = &launch->cluster;
    launch_kernel launch_by_driver;

    TRY(gm_cuda_open());
    TRY(get_launch(&launch_by_driver));
    if (launch->cooperative) {
        CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
        attribute->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attribute->value.cooperative = 1;
    }
    if (cluster->x * cluster->y * cluster->z > 1) {
        CUlaunchAttribute *attribute = &attributes[config.numAttrs++];
        attribute->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute->value.clusterDim.x = cluster->x;
        attribute->value.clusterDim.y = cluster->y;
        attribute->value.clusterDim.z = cluster->z;
    }
    CUfunction function = (CUfunction)launch->kernel; /* the driver takes a CUkernel as well */
    CUresult result = launch_by_driver(&config, function, launch->args, NULL);
    if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED) {
        int device; /* the thread has not used the runtime yet, which makes its context current */
        TRY(gm_cuda_current_device(&device));
        CHECK(cudaSetDevice(device));
        result = launch_by_driver(&config, function, launch->args, NULL);
    }
    return result == CUDA_SUCCESS ? GM_OK : failure(result, launch);
}
