/*
 * Opening CUDA, and its devices.
 *
 * The runtime is linked statically and finds the driver by itself, so the module loads on machines
 * without a driver; open() then says why there is no GPU. Nothing uses the driver before the first
 * call.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_internal.h"
#include "fork_lock.h"

/* FORKED: in a child of a process that had CUDA open, see fork_lock.h. */
enum { CLOSED, OPENING, OPEN, REFUSED, FORKED };

static atomic_int state = CLOSED;
GM_CHILD_LOCK(lock); /* guards opening and learning */
static gm_cuda_device *devices;
static int device_count;

/* Why open() failed; it does not try again, unless for want of memory. */
static struct {
    cudaError_t error;
    char reason[512];
} refusal;

/* ---- opening ------------------------------------------------------------------------ */

static void print_version(char *text, size_t size, int version)
{
    snprintf(text, size, "%d.%d", version / 1000, version % 1000 / 10);
}

/* Turns the runtime's first error into a sentence. */
static void explain(cudaError_t error, char *reason, size_t size)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int driver = 0;
    char has[32], needs[32];

    switch (error) {
    case cudaErrorInsufficientDriver:
        if (!gm_cuda_succeeded(cudaDriverGetVersion(&driver)) || driver == 0) {
            snprintf(reason, size, "no NVIDIA driver was found");
            break;
        }
        print_version(has, sizeof has, driver);
        print_version(needs, sizeof needs, CUDART_VERSION);
        snprintf(reason, size, "the driver supports CUDA %s, this build needs %s", has, needs);
        break;
    case cudaErrorNoDevice:
        if (visible == NULL) {
            snprintf(reason, size, "no CUDA device was found");
        } else if (visible[0] == '\0') {
            snprintf(reason, size, "no CUDA device is visible (CUDA_VISIBLE_DEVICES is empty)");
        } else {
            snprintf(reason, size, "no CUDA device is visible (CUDA_VISIBLE_DEVICES is \"%s\")",
                     visible);
        }
        break;
    case cudaErrorInitializationError:
        snprintf(reason, size,
                 "the NVIDIA driver could not be initialised; if this process was "
                 "forked from one that uses CUDA, use the spawn start method");
        break;
    default:
        snprintf(reason, size, "CUDA could not be started: %s (%s)", cudaGetErrorString(error),
                 cudaGetErrorName(error));
    }
}

/* A refusal stays valid. If the parent never called CUDA, the child may open it. */
static void close_in_child(void)
{
    int was = atomic_load(&state);
    if (was == OPENING || was == OPEN) {
        atomic_store(&state, FORKED);
    }
}
GM_IN_CHILD(close_in_child);

static cudaError_t start(void)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0) {
        error = cudaErrorNoDevice;
    }
    if (error != cudaSuccess) {
        (void)gm_cuda_succeeded(error);
        explain(error, refusal.reason, sizeof refusal.reason);
        return error;
    }
    devices = calloc((size_t)count, sizeof *devices);
    if (devices == NULL) {
        return cudaErrorMemoryAllocation;
    }
    for (int i = 0; i < count; i++) {
        devices[i].index = i;
    }
    device_count = count;
    return cudaSuccess;
}

bool gm_cuda_is_open(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == OPEN;
}

/* Counts the devices; a device's context is created at its first use. */
gm_status gm_cuda_open(void)
{
    /* The common case, at the head of every call. */
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == OPEN) {
        return GM_OK;
    }
    if (now == CLOSED || now == OPENING) {
        pthread_mutex_lock(&lock);
        if (atomic_load(&state) == CLOSED) {
            atomic_store(&state, OPENING);
            refusal.error = start();
            /* Memory there may be the next time. */
            int otherwise = refusal.error == cudaErrorMemoryAllocation ? CLOSED : REFUSED;
            atomic_store(&state, refusal.error == cudaSuccess ? OPEN : otherwise);
        }
        now = atomic_load(&state);
        pthread_mutex_unlock(&lock);
    }
    if (now == OPEN) {
        return GM_OK;
    }
    if (now == CLOSED) {
        return gm_cuda_failure(cudaErrorMemoryAllocation, "cudaGetDeviceCount(&count)", NULL);
    }
    if (now == FORKED) {
        gm_fail(GM_ERROR_CUDA, "CUDA cannot be used in a forked child; use the spawn start method");
        return gm_cuda_annotate(GM_ERROR_CUDA, cudaErrorInitializationError, false, "fork");
    }
    gm_fail(GM_ERROR_UNAVAILABLE, "%s", refusal.reason);
    return gm_cuda_annotate(GM_ERROR_UNAVAILABLE, refusal.error, false,
                            "cudaGetDeviceCount(&count)");
}

/* ---- devices ------------------------------------------------------------------------ */

int gm_cuda_device_count(void)
{
    return gm_cuda_open() == GM_OK ? device_count : 0;
}

gm_status gm_cuda_current_device(int *device)
{
    TRY(gm_cuda_open());
    if (device_count == 1) {
        *device = 0;
        return GM_OK;
    }
    CHECK(cudaGetDevice(device));
    return GM_OK;
}

/* With one device it asks nothing: that would take longer than most calls. */
gm_status gm_cuda_use_device(int device, int *previous)
{
    TRY(gm_cuda_current_device(previous));
    if (device < 0 || device >= device_count) {
        return gm_fail(GM_ERROR_VALUE, "device is %d, it must be from 0 to %d", device,
                       device_count - 1);
    }
    if (device != *previous) {
        CHECK(cudaSetDevice(device));
    }
    return GM_OK;
}

gm_status gm_cuda_here(gm_cuda_device **device)
{
    int index;
    TRY(gm_cuda_current_device(&index));
    *device = &devices[index];
    return GM_OK;
}

gm_cuda_device *gm_cuda_device_at(int index)
{
    return &devices[index];
}

void gm_cuda_lock(void)
{
    pthread_mutex_lock(&lock);
}

void gm_cuda_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

gm_status gm_cuda_prepare(gm_cuda_device *device, atomic_bool *done,
                          gm_status (*learn)(gm_cuda_device *device))
{
    if (atomic_load_explicit(done, memory_order_acquire)) {
        return GM_OK;
    }
    pthread_mutex_lock(&lock);
    gm_status status = atomic_load(done) ? GM_OK : learn(device);
    if (status == GM_OK) {
        atomic_store(done, true);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* Not an attribute of CUDA; from the tables of the CUDA programming guide. Of clusters it promises
 * 8 blocks on every device that has any. */
enum { CLUSTER_BLOCKS = 8, CLUSTER_CAPABILITY = 90 };

static int fp32_lanes(int major, int minor)
{
    switch (major) {
    case 5: return 128;
    case 6: return minor == 0 ? 64 : 128;
    case 7: return 64;
    case 8: return minor == 0 ? 64 : 128;
    case 9:
    case 10:
    case 11:
    case 12: return 128;
    default: return 0;
    }
}

static gm_status learn_properties(gm_cuda_device *device)
{
    struct cudaDeviceProp found;
    gm_device_properties *properties = &device->properties;

    CHECK(cudaGetDeviceProperties(&found, device->index));
    snprintf(properties->name, sizeof properties->name, "%.255s", found.name);
    properties->capability = 10 * found.major + found.minor;
    properties->multiprocessors = found.multiProcessorCount;
    properties->warp_size = found.warpSize;
    properties->threads_per_multiprocessor = found.maxThreadsPerMultiProcessor;
    properties->blocks_per_multiprocessor = found.maxBlocksPerMultiProcessor;
    properties->l2_bytes = found.l2CacheSize;
    properties->shared_per_block = (int64_t)found.sharedMemPerBlockOptin;
    properties->shared_per_multiprocessor = (int64_t)found.sharedMemPerMultiprocessor;
    properties->constant_bytes = (int64_t)found.totalConstMem;
    properties->memory_bytes = (int64_t)found.totalGlobalMem;
    properties->max_grid_x = found.maxGridSize[0];
    properties->memory_bus_bits = found.memoryBusWidth;
    properties->fp32_lanes = fp32_lanes(found.major, found.minor);
    properties->pci_domain = found.pciDomainID;
    properties->pci_bus = found.pciBusID;
    properties->pci_device = found.pciDeviceID;
    properties->managed = found.managedMemory && found.concurrentManagedAccess;
    /* CUDA 13 took the clocks out of the found. */
    CHECK(cudaDeviceGetAttribute(&properties->clock_khz, cudaDevAttrClockRate, device->index));
    CHECK(cudaDeviceGetAttribute(&properties->memory_clock_khz, cudaDevAttrMemoryClockRate,
                                 device->index));
    int clusters;
    CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device->index));
    const bool compiled = gm_cuda_compiled_for(CLUSTER_CAPABILITY, properties);
    properties->cluster_blocks = clusters && compiled ? CLUSTER_BLOCKS : 0;
    return GM_OK;
}

gm_status gm_cuda_properties(int device, const gm_device_properties **properties)
{
    TRY(gm_cuda_open());
    if (device < 0 || device >= device_count) {
        return gm_fail(GM_ERROR_VALUE, "device is %d, it must be from 0 to %d", device,
                       device_count - 1);
    }
    TRY(gm_cuda_prepare(&devices[device], &devices[device].has_properties, learn_properties));
    *properties = &devices[device].properties;
    return GM_OK;
}

void gm_cuda_versions(char runtime[32], char driver[32])
{
    int version = 0;
    runtime[0] = driver[0] = '\0';
    if (gm_cuda_succeeded(cudaRuntimeGetVersion(&version))) {
        print_version(runtime, 32, version);
    }
    if (gm_cuda_succeeded(cudaDriverGetVersion(&version)) && version > 0) {
        print_version(driver, 32, version);
    }
}
