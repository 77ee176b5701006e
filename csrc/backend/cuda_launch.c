/*
 * Launches kernels, and reads their attributes.
 */
#include <stdio.h>

#include "cuda_internal.h"

/* The kernel's slot, or a free one; NULL if other kernels have all slots. */
static gm_cuda_opt_in *find_opt_in(gm_cuda_device *device, const void *kernel)
{
    uint64_t hash = (uint64_t)(uintptr_t)kernel * UINT64_C(0x9E3779B97F4A7C15) >> 32;
    for (size_t i = 0; i < GM_CUDA_OPT_INS; i++) {
        gm_cuda_opt_in *slot = &device->opt_ins[(hash + i) % GM_CUDA_OPT_INS];
        const void *owner = atomic_load_explicit(&slot->kernel, memory_order_acquire);
        if (owner == kernel || owner == NULL) {
            return slot;
        }
    }
    return NULL;
}

static bool has_opted_in(gm_cuda_opt_in *slot, const void *kernel, size_t bytes)
{
    return slot != NULL && atomic_load_explicit(&slot->kernel, memory_order_acquire) == kernel &&
           bytes <= atomic_load_explicit(&slot->bytes, memory_order_acquire);
}

static gm_status opt_in(gm_cuda_opt_in *slot, const gm_variant *variant, size_t bytes,
                        const gm_device_properties *properties)
{
    const void *kernel = variant->cuda_kernel;
    struct cudaFuncAttributes limits;

    CHECK(cudaFuncGetAttributes(&limits, kernel));
    size_t allowed = (size_t)limits.maxDynamicSharedSizeBytes;
    size_t device = (size_t)properties->shared_per_block;
    if (bytes > device || limits.sharedSizeBytes > device - bytes) {
        return gm_fail(GM_ERROR_VALUE,
                       "%s would need %zu bytes of shared memory per block, the device has %zu",
                       variant->symbol, bytes + limits.sharedSizeBytes, device);
    }
    if (bytes > allowed) {
        CHECK(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
        allowed = bytes;
    }
    if (slot != NULL) {
        atomic_store(&slot->bytes, allowed);
        atomic_store(&slot->kernel, kernel); /* last: readers take no lock */
    }
    return GM_OK;
}

/*
 * A kernel must ask for more than 48 KiB of shared memory, static and dynamic together.
 * Asking is slow, so it is done only if a kernel is new or needs more than before.
 */
static gm_status allow_shared(const gm_variant *variant, size_t bytes)
{
    const void *kernel = variant->cuda_kernel;
    const gm_device_properties *properties;
    gm_cuda_device *device;

    TRY(gm_cuda_here(&device));
    if (has_opted_in(find_opt_in(device, kernel), kernel, bytes)) {
        return GM_OK;
    }
    TRY(gm_cuda_properties(device->index, &properties));
    gm_cuda_lock();
    gm_cuda_opt_in *slot = find_opt_in(device, kernel);
    gm_status status =
        has_opted_in(slot, kernel, bytes) ? GM_OK : opt_in(slot, variant, bytes, properties);
    gm_cuda_unlock();
    return status;
}

static gm_status no_kernel(const gm_variant *variant)
{
    return gm_fail(GM_ERROR_UNAVAILABLE, "%s has no kernel of its own", variant->symbol);
}

enum { LARGEST_CLUSTER = 16 }; /* that any device has; from the CUDA programming guide */

/* Every kernel may have clusters of as many blocks as the device promises. More have to be asked
 * for, and depend on the kernel and on the multiprocessors that lie together. */
static gm_status find_cluster_blocks(const gm_variant *variant, int *blocks)
{
    const gm_dim *block = &variant->block;
    cudaLaunchConfig_t config = {
        .gridDim = {LARGEST_CLUSTER, 1, 1},
        .blockDim = {block->x, block->y, block->z},
        .dynamicSmemBytes = (size_t)variant->shared_bytes,
    };
    CHECK(cudaFuncSetAttribute(variant->cuda_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed,
                               1));
    CHECK(cudaOccupancyMaxPotentialClusterSize(blocks, variant->cuda_kernel, &config));
    return GM_OK;
}

gm_status gm_cuda_cluster_blocks(const gm_variant *variant, int *blocks)
{
    const void *kernel = variant->cuda_kernel;
    const gm_device_properties *properties;
    gm_cuda_device *device;

    *blocks = 0;
    TRY(gm_cuda_here(&device));
    TRY(gm_cuda_properties(device->index, &properties));
    if (kernel == NULL || properties->cluster_blocks == 0) {
        return GM_OK;
    }
    gm_cuda_opt_in *slot = find_opt_in(device, kernel);
    if (has_opted_in(slot, kernel, 0)) {
        *blocks = atomic_load_explicit(&slot->cluster_blocks, memory_order_acquire);
    }
    if (*blocks > 0) {
        return GM_OK;
    }
    TRY(gm_cuda_load());
    gm_cuda_lock();
    gm_status status = find_cluster_blocks(variant, blocks);
    slot = find_opt_in(device, kernel);
    if (status == GM_OK && slot != NULL) {
        atomic_store(&slot->cluster_blocks, *blocks);
        atomic_store(&slot->kernel, kernel); /* last: readers take no lock */
    }
    gm_cuda_unlock();
    return status;
}

static gm_status launch_failure(cudaError_t error, const gm_variant *variant, const gm_plan *plan)
{
    char call[96], context[256];
    const gm_dim *grid = &plan->grid, *block = &plan->block;

    snprintf(call, sizeof call, "cudaLaunchKernel(%s, ...)", variant->symbol);
    snprintf(context, sizeof context,
             "The launch of %s (grid %u x %u x %u, block %u x %u x %u, %zu bytes of dynamic "
             "shared memory)",
             variant->symbol, grid->x, grid->y, grid->z, block->x, block->y, block->z,
             plan->shared_bytes);
    return gm_cuda_failure(error, call, context);
}

/*
 * programmatic_launch: the kernel's blocks may start while the kernel before it on the stream ends,
 * which hides most of the cost of a launch. The kernel itself waits for the results it needs.
 */
static cudaError_t launch_with_attributes(const void *kernel, const gm_plan *plan,
                                          bool programmatic_launch, void **args, gm_stream stream)
{
    cudaLaunchAttribute attributes[3];
    cudaLaunchConfig_t config = {
        .gridDim = {plan->grid.x, plan->grid.y, plan->grid.z},
        .blockDim = {plan->block.x, plan->block.y, plan->block.z},
        .dynamicSmemBytes = plan->shared_bytes,
        .stream = stream,
        .attrs = attributes,
    };
    if (programmatic_launch) {
        cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];
        attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute->val.programmaticStreamSerializationAllowed = 1;
    }
    if (plan->has_carveout) {
        cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];
        attribute->id = cudaLaunchAttributePreferredSharedMemoryCarveout;
        attribute->val.sharedMemCarveout = (unsigned)plan->carveout;
    }
    if (plan->cluster.x > 0) {
        cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];
        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim.x = plan->cluster.x;
        attribute->val.clusterDim.y = plan->cluster.y;
        attribute->val.clusterDim.z = plan->cluster.z;
    }
    return cudaLaunchKernelExC(&config, kernel, args);
}

static bool supports_programmatic_launch(void)
{
    gm_cuda_device *device;
    const gm_device_properties *properties;
    return gm_cuda_here(&device) == GM_OK &&
           gm_cuda_properties(device->index, &properties) == GM_OK && properties->capability >= 90;
}

gm_status gm_cuda_launch(const gm_variant *variant, const gm_plan *plan, gm_stream stream)
{
    const void *kernel = variant->cuda_kernel;
    dim3 grid = {plan->grid.x, plan->grid.y, plan->grid.z};
    dim3 block = {plan->block.x, plan->block.y, plan->block.z};
    void *args[] = {(void *)(uintptr_t)plan->args}; /* one struct by value; only read */

    TRY(gm_cuda_load());
    if (kernel == NULL) {
        return no_kernel(variant);
    }
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) {
        return GM_OK; /* for CUDA an error */
    }
    if (plan->shared_bytes > 0) {
        TRY(allow_shared(variant, plan->shared_bytes));
    }
    bool programmatic_launch = variant->programmatic_launch && supports_programmatic_launch();
    cudaError_t error =
        programmatic_launch || plan->has_carveout || plan->cluster.x > 0
            ? launch_with_attributes(kernel, plan, programmatic_launch, args, stream)
            : cudaLaunchKernel(kernel, grid, block, args, plan->shared_bytes, stream);
    if (error == cudaSuccess) {
        error = cudaPeekAtLastError();
    }
    return error == cudaSuccess ? GM_OK : launch_failure(error, variant, plan);
}

gm_status gm_cuda_attributes(const gm_variant *variant, const gm_plan *plan,
                             gm_attributes *attributes)
{
    const void *kernel = variant->cuda_kernel;
    gm_cuda_device *device;
    const gm_device_properties *properties;
    struct cudaFuncAttributes compiled;

    TRY(gm_cuda_load());
    TRY(gm_cuda_here(&device));
    if (kernel == NULL) {
        return no_kernel(variant);
    }
    TRY(gm_cuda_properties(device->index, &properties));
    if (plan->shared_bytes > 0) {
        TRY(allow_shared(variant, plan->shared_bytes)); /* else no block would fit */
    }
    CHECK(cudaFuncGetAttributes(&compiled, kernel));
    int threads = (int)(plan->block.x * plan->block.y * plan->block.z);
    int blocks;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads,
                                                        plan->shared_bytes));
    attributes->registers = compiled.numRegs;
    attributes->local_bytes = (int64_t)compiled.localSizeBytes;
    attributes->shared_bytes = (int64_t)compiled.sharedSizeBytes;
    attributes->constant_bytes = (int64_t)compiled.constSizeBytes;
    attributes->max_threads = compiled.maxThreadsPerBlock;
    attributes->blocks = blocks;
    attributes->occupancy = (double)blocks * threads / properties->threads_per_multiprocessor;
    attributes->binary_version = compiled.binaryVersion;
    return GM_OK;
}
