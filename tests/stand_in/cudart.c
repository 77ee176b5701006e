/*
 * A stand-in for the CUDA runtime, of the calls that csrc/backend makes: nothing is done, and any
 * call can be told to fail. Like the runtime it keeps the last error until somebody takes it.
 *
 * The program fails every call and every two calls of each operation of the backend, and prints
 * those after which an error was left: the check of the next launch would report it.
 */
#include <stdio.h>
#include <string.h>

#include "backend/cuda_internal.h"
#include "backend/kernel_list.h"

static cudaError_t last;
static int calls, first_fault, second_fault; /* numbers of calls; 0: none */
static const char *faulty[2];

static cudaError_t outcome(const char *name)
{
    calls++;
    if (calls != first_fault && calls != second_fault) {
        return cudaSuccess;
    }
    faulty[calls == second_fault] = name;
    last = calls == first_fault ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    return last;
}

/* What it gives is given whether it fails or not: nobody may look then. */
#define STAND_IN(name, parameters, ...)                                                            \
    cudaError_t name parameters                                                                    \
    {                                                                                              \
        __VA_ARGS__;                                                                               \
        return outcome(#name);                                                                     \
    }

#define ANYTHING ((void *)memory)
static char memory[64];

cudaError_t cudaGetLastError(void)
{
    cudaError_t taken = last;
    last = cudaSuccess;
    return taken;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

const char *cudaGetErrorName(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "another";
}

const char *cudaGetErrorString(cudaError_t error)
{
    return cudaGetErrorName(error);
}

STAND_IN(cudaGetDeviceCount, (int *count), *count = 2)
STAND_IN(cudaGetDevice, (int *device), *device = 0)
STAND_IN(cudaSetDevice, (int device), (void)device)
STAND_IN(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr which, int device), *value = 1,
         (void)which, (void)device)
STAND_IN(cudaGetDeviceProperties, (struct cudaDeviceProp * found, int device), (void)device,
         memset(found, 0, sizeof *found), found->totalGlobalMem = (size_t)1 << 40,
         found->managedMemory = found->concurrentManagedAccess = 1, found->major = 9)
STAND_IN(cudaRuntimeGetVersion, (int *version), *version = 13000)
STAND_IN(cudaDriverGetVersion, (int *version), *version = 13000)
STAND_IN(cudaMemGetInfo, (size_t * available, size_t *total), *available = *total = 1 << 30)
STAND_IN(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), *pool = ANYTHING,
         (void)device)
STAND_IN(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value),
         (void)pool, (void)which, (void)value)
STAND_IN(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value),
         (void)pool, (void)which, *(uint64_t *)value = 0)
STAND_IN(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t bytes), (void)pool, (void)bytes)
STAND_IN(cudaMalloc, (void **address, size_t bytes), *address = ANYTHING, (void)bytes)
STAND_IN(cudaMallocAsync, (void **address, size_t bytes, cudaStream_t stream), *address = ANYTHING,
         (void)bytes, (void)stream)
STAND_IN(cudaMallocManaged, (void **address, size_t bytes, unsigned flags), *address = ANYTHING,
         (void)bytes, (void)flags)
STAND_IN(cudaHostAlloc, (void **address, size_t bytes, unsigned flags), *address = ANYTHING,
         (void)bytes, (void)flags)
STAND_IN(cudaFree, (void *address), (void)address)
STAND_IN(cudaFreeAsync, (void *address, cudaStream_t stream), (void)address, (void)stream)
STAND_IN(cudaFreeHost, (void *address), (void)address)
STAND_IN(cudaPointerGetAttributes, (struct cudaPointerAttributes * found, const void *address),
         (void)address, memset(found, 0, sizeof *found), found->type = cudaMemoryTypeDevice,
         found->device = 1)
STAND_IN(cudaDeviceSynchronize, (void), (void)0)
STAND_IN(cudaStreamSynchronize, (cudaStream_t stream), (void)stream)
STAND_IN(cudaStreamQuery, (cudaStream_t stream), (void)stream)
STAND_IN(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags), *stream = ANYTHING,
         (void)flags)
STAND_IN(cudaStreamDestroy, (cudaStream_t stream), (void)stream)
STAND_IN(cudaStreamGetFlags, (cudaStream_t stream, unsigned *flags), (void)stream,
         *flags = cudaStreamNonBlocking)
STAND_IN(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
         (void)stream, (void)event, (void)flags)
STAND_IN(cudaEventCreate, (cudaEvent_t * event), *event = ANYTHING)
STAND_IN(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags), *event = ANYTHING,
         (void)flags)
STAND_IN(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), (void)event, (void)stream)
STAND_IN(cudaEventQuery, (cudaEvent_t event), (void)event)
STAND_IN(cudaEventDestroy, (cudaEvent_t event), (void)event)
STAND_IN(cudaMemcpyAsync,
         (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream),
         (void)to, (void)from, (void)bytes, (void)kind, (void)stream)
STAND_IN(cudaMemsetAsync, (void *to, int byte, size_t bytes, cudaStream_t stream), (void)to,
         (void)byte, (void)bytes, (void)stream)
STAND_IN(cudaFuncGetAttributes, (struct cudaFuncAttributes * found, const void *kernel),
         (void)kernel, memset(found, 0, sizeof *found))
STAND_IN(cudaLaunchKernel,
         (const void *kernel, dim3 grid, dim3 block, void **args, size_t bytes,
          cudaStream_t stream),
         (void)kernel, (void)grid, (void)block, (void)args, (void)bytes, (void)stream)

/* ---- operations of the backend ----------------------------------------------------------------
 */

static void allocate(void)
{
    void *address;
    if (gm_cuda.allocate(1 << 20, NULL, &address) == GM_OK) {
        gm_cuda.release(address, NULL);
    }
}

static void allocate_on_the_host(void)
{
    for (int kind = GM_PINNED; kind <= GM_MANAGED; kind++) {
        void *address;
        if (gm_cuda.host_allocate((gm_memory_kind)kind, 1 << 20, &address) == GM_OK) {
            gm_cuda.host_release((gm_memory_kind)kind, address);
        }
    }
}

static void look_at_memory(void)
{
    char runtime[32], driver[32];
    gm_pool_sizes pool;
    const gm_device_properties *properties;
    int64_t available, total;
    int device = -1;
    gm_cuda.versions(runtime, driver);
    (void)gm_cuda.properties(1, &properties);
    (void)gm_cuda.memory(&available, &total);
    (void)gm_cuda.pool(&pool);
    (void)gm_cuda.pool_trim();
    (void)gm_cuda.host_kind(memory);
    (void)gm_cuda.adopt(memory, 1, &device);
}

static void order_streams(void)
{
    gm_stream stream;
    if (gm_cuda.stream_create(&stream) == GM_OK) {
        (void)gm_cuda.stream_join(NULL, stream);
        (void)gm_cuda.stream_join(stream, NULL);
        gm_cuda.stream_destroy(stream);
    }
}

static void record_events(void)
{
    gm_event event;
    if (gm_cuda.event_create(&event) == GM_OK) {
        (void)gm_cuda.event_record(event, NULL);
        bool done;
        (void)gm_cuda.stream_follow(NULL, event);
        (void)gm_cuda.event_done(event, &done);
        gm_cuda.event_destroy(event);
    }
}

static void work(void)
{
    const gm_variant variant = {.symbol = "kernel", .cuda_kernel = memory};
    static gm_plan plan = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    (void)gm_cuda.copy(memory, memory, 1, GM_WITHIN, NULL);
    (void)gm_cuda.fill(memory, 0, 1, NULL);
    (void)gm_cuda.launch(&variant, &plan, NULL);
    (void)gm_cuda.wait(NULL);
    (void)gm_cuda.wait_all();
}

static int left; /* errors */

/* With faults at these calls; false when there is none of that number. */
static bool run(const char *name, void (*operation)(void), int first, int second)
{
    calls = 0;
    faulty[0] = faulty[1] = NULL;
    first_fault = first;
    second_fault = second;
    operation();
    if (cudaGetLastError() != cudaSuccess) {
        printf("%s: %s%s%s left an error\n", name, faulty[0], faulty[1] ? " and then " : "",
               faulty[1] ? faulty[1] : "");
        left++;
    }
    return calls >= (second ? second : first);
}

int main(void)
{
    static const void *const kernels[] = {"a kernel", "another", NULL};
    static gm_kernel_list list = {kernels, NULL};
    static const struct {
        const char *name;
        void (*operation)(void);
    } all[] = {
        {"allocate", allocate},
        {"allocate on the host", allocate_on_the_host},
        {"look at memory", look_at_memory},
        {"order streams", order_streams},
        {"record events", record_events},
        {"work", work},
    };
    const size_t count = sizeof all / sizeof *all;
    int runs = 0;
    gm_enlist_kernels(&list);
    if (gm_cuda.open() != GM_OK) {
        return 2;
    }
    /* Twice: what is learnt about a device the first time makes no calls later. */
    for (size_t i = 0; i < 2 * count; i++) {
        const char *name = all[i % count].name;
        void (*operation)(void) = all[i % count].operation;
        for (int first = 1; run(name, operation, first, 0); first++) {
            for (int second = first + 1; run(name, operation, first, second); second++) {
                runs++;
            }
            runs++;
        }
    }
    printf("%d faults, %d left an error\n", runs, left);
    return left > 0;
}
