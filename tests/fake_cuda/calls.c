/* What all calls share: the lock, errors, faults that were asked for; and what tests call. */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpumem.h"

#define FOR_TESTS __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local cudaError_t last;
static _Thread_local int current_device;
static cudaError_t lost;
static char why_lost[256], complaint[256];
static int device_count = 1, most_blocks = INT32_MAX;

/* The fault that was asked for. */
static int64_t calls, fault_at, second_at;
static cudaError_t fault;
static bool fault_is_sticky;
static const char *failed_call;

/* How often a call lets some work run, in per cent. */
static int pace = 20;
static uint64_t state = 1;

uint64_t fake_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

bool fake_is_lost(void)
{
    return lost != cudaSuccess;
}

void fake_lose(cudaError_t error, const char *why)
{
    if (lost == cudaSuccess) {
        lost = error;
        snprintf(why_lost, sizeof why_lost, "%s", why);
        fake_drop_all();
    }
}

cudaError_t fake_enter(const char *call)
{
    pthread_mutex_lock(&lock);
    calls++;
    /* Whoever gave up waits: only a sticky error could prevent that. */
    bool again = calls == second_at && strstr(call, "Synchronize") == NULL;
    if (calls == fault_at || again) {
        failed_call = call;
        if (fault_is_sticky) {
            fake_lose(fault, call);
        }
        return fault;
    }
    if (lost == cudaSuccess && (int)(fake_random() % 100) < pace) {
        fake_stir();
    }
    return lost;
}

cudaError_t fake_leave(cudaError_t error)
{
    error = lost != cudaSuccess ? lost : error;
    last = error != cudaSuccess && error != cudaErrorNotReady ? error : last;
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t fake_complain(const char *what)
{
    if (complaint[0] == '\0') {
        snprintf(complaint, sizeof complaint, "%s", what);
    }
    return cudaErrorInvalidValue;
}

int fake_current_device(void)
{
    return current_device;
}

/* ---- errors -------------------------------------------------------------------------------- */

cudaError_t cudaGetLastError(void)
{
    cudaError_t taken = lost != cudaSuccess ? lost : last;
    last = cudaSuccess;
    return taken;
}

cudaError_t cudaPeekAtLastError(void)
{
    return lost != cudaSuccess ? lost : last;
}

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorUnknown";
    }
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "a fake error";
}

/* ---- devices ------------------------------------------------------------------------------- */

cudaError_t cudaGetDeviceCount(int *count)
{
    FAKE_BEGIN();
    *count = device_count;
    return fake_leave(device_count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device)
{
    FAKE_BEGIN();
    *device = current_device;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaSetDevice(int device)
{
    FAKE_BEGIN();
    bool known = device >= 0 && device < device_count;
    current_device = known ? device : current_device;
    return fake_leave(known ? cudaSuccess : cudaErrorInvalidDevice);
}

bool fake_has_clusters(void)
{
    const char *clusters = getenv("FAKE_CLUSTERS");
    return clusters != NULL && clusters[0] != '\0';
}

/* Without a pool if the environment says so, and without clusters unless it asks for them; all
 * other attributes are clocks, in kHz. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device)
{
    FAKE_BEGIN();
    const char *no_pool = getenv("FAKE_NO_POOL");
    bool has_pool = no_pool == NULL || no_pool[0] == '\0';
    (void)device;
    switch (which) {
    case cudaDevAttrMemoryPoolsSupported: *value = has_pool; break;
    case cudaDevAttrClusterLaunch: *value = fake_has_clusters(); break;
    default: *value = 1000000;
    }
    return fake_leave(cudaSuccess);
}

int fake_most_blocks(void)
{
    return most_blocks;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *found, int device)
{
    size_t available, total;
    cudaError_t error = cudaMemGetInfo(&available, &total);
    if (error != cudaSuccess) {
        return error;
    }
    FAKE_BEGIN();
    memset(found, 0, sizeof *found);
    snprintf(found->name, sizeof found->name, "fake device %d", device);
    found->major = 9;
    found->multiProcessorCount = 16;
    found->warpSize = 32;
    found->maxThreadsPerMultiProcessor = 2048;
    found->maxBlocksPerMultiProcessor = 32;
    found->l2CacheSize = 50 << 20;
    found->sharedMemPerBlockOptin = 227 << 10;
    found->sharedMemPerMultiprocessor = 228 << 10;
    found->totalConstMem = 64 << 10;
    found->totalGlobalMem = total;
    found->maxGridSize[0] = most_blocks;
    found->memoryBusWidth = 1024;
    found->pciBusID = device + 1;
    found->managedMemory = found->concurrentManagedAccess = 1;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    FAKE_BEGIN();
    *version = CUDART_VERSION;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return cudaRuntimeGetVersion(version);
}

/* ---- for tests ----------------------------------------------------------------------------- */

/* Before the first call of the runtime. */
FOR_TESTS void fake_cuda_set_devices(int count)
{
    device_count = count <= FAKE_DEVICES ? count : FAKE_DEVICES;
}

/* Along x, in a grid; before the first call of the runtime. */
FOR_TESTS void fake_cuda_set_most_blocks(int count)
{
    most_blocks = count;
}

/* How often a call lets some work run: 0: never. */
FOR_TESTS void fake_cuda_set_pace(int per_cent, uint64_t seed)
{
    pace = per_cent;
    state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
}

/* Counts calls anew, and lets those of these numbers fail; 0: none. */
FOR_TESTS void fake_cuda_fail(int64_t number, int64_t second, int error, int sticky)
{
    calls = 0;
    failed_call = NULL;
    fault_at = number;
    second_at = second;
    fault = (cudaError_t)error;
    fault_is_sticky = sticky != 0;
}

/* The targets that gpumem says it was compiled for. */
FOR_TESTS void fake_cuda_set_archs(const char *archs)
{
    static char kept[80];
    snprintf(kept, sizeof kept, "%s", archs);
    gm_build_archs = kept;
}

FOR_TESTS int64_t fake_cuda_calls(void)
{
    return calls;
}

/* The call that has failed as asked, or NULL. */
FOR_TESTS const char *fake_cuda_failed_call(void)
{
    return failed_call;
}

/* Ends a sticky error, as only a new process could. */
FOR_TESTS void fake_cuda_revive(void)
{
    last = lost != cudaSuccess ? cudaSuccess : last;
    lost = cudaSuccess;
    fault_at = second_at = 0;
}

/* What made the context unusable. */
FOR_TESTS const char *fake_cuda_why_lost(void)
{
    return lost != cudaSuccess ? why_lost : NULL;
}

/* An error of this thread that nobody has taken. */
FOR_TESTS int fake_cuda_left(void)
{
    return (int)last;
}

/* The first use that CUDA leaves undefined, or NULL. */
FOR_TESTS const char *fake_cuda_complaint(void)
{
    return complaint[0] != '\0' ? complaint : NULL;
}

/* Allocations on devices, on the host, streams, events and textures that there are. */
FOR_TESTS void fake_cuda_live(int64_t counts[5])
{
    pthread_mutex_lock(&lock);
    counts[0] = fake_live_memory(false);
    counts[1] = fake_live_memory(true);
    counts[2] = fake_live_streams();
    counts[3] = fake_live_events();
    counts[4] = fake_live_textures();
    pthread_mutex_unlock(&lock);
}
