/* What streams do: copies, fills and kernels. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "backend/backend.h"
#include "backend/sim_kernels.h"
#include "sim/grid.h"
#include "sim/tensor.h"

/* ---- copies -------------------------------------------------------------------------------- */

typedef struct copy_work {
    fake_work work;
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, rows;
    char *staged; /* pageable memory is read before the call returns */
} copy_work;

static void run_copy(fake_work *work)
{
    const copy_work *copy = (const copy_work *)work;
    for (size_t i = 0; i < copy->rows; i++) {
        memmove(copy->to + i * copy->to_pitch, copy->from + i * copy->from_pitch, copy->width);
    }
}

static void drop_copy(fake_work *work)
{
    free(((copy_work *)work)->staged);
}

static bool stage(copy_work *copy)
{
    copy->staged = malloc(copy->rows * copy->width + 1);
    for (size_t i = 0; copy->staged && i < copy->rows; i++) {
        memcpy(copy->staged + i * copy->width, copy->from + i * copy->from_pitch, copy->width);
    }
    copy->from = copy->staged;
    copy->from_pitch = copy->width;
    return copy->staged != NULL;
}

/* Is this side of a copy where its kind says? The device reaches page-locked memory too. */
static bool suits(enum cudaMemcpyKind kind, bool source, enum cudaMemoryType found)
{
    bool device = found != cudaMemoryTypeUnregistered;
    bool host = found != cudaMemoryTypeDevice;
    enum cudaMemcpyKind into = source ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice;
    if (kind == cudaMemcpyDefault) {
        return true;
    }
    return kind == into || kind == cudaMemcpyDeviceToDevice ? device : host;
}

/* Queues a copy, with the lock held. */
static cudaError_t queue_copy(copy_work *wanted, enum cudaMemcpyKind kind, cudaStream_t on)
{
    enum cudaMemoryType to, from;
    int to_device, from_device;
    struct CUstream_st *stream = fake_stream(on);
    size_t last = wanted->rows - 1;
    if (!stream ||
        !fake_find(wanted->to, last * wanted->to_pitch + wanted->width, &to, &to_device) ||
        !fake_find(wanted->from, last * wanted->from_pitch + wanted->width, &from, &from_device)) {
        return cudaErrorInvalidValue;
    }
    if (!suits(kind, false, to) || !suits(kind, true, from)) {
        return fake_complain("a copy of another kind than its memory");
    }
    copy_work *copy = fake_new_work(sizeof *copy, run_copy);
    if (!copy) {
        return cudaErrorMemoryAllocation;
    }
    fake_work named = copy->work;
    *copy = *wanted;
    copy->work = named;
    copy->work.drop = drop_copy;
    copy->work.device = to == cudaMemoryTypeDevice ? to_device : copy->work.device;
    copy->work.other = from == cudaMemoryTypeDevice ? from_device : copy->work.other;
    if (from == cudaMemoryTypeUnregistered && !stage(copy)) {
        free(copy);
        return cudaErrorMemoryAllocation;
    }
    fake_push(stream, &copy->work);
    if (to == cudaMemoryTypeUnregistered) { /* pageable memory is written before it returns */
        fake_finish(stream);
    }
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    FAKE_BEGIN();
    copy_work copy = {.to = to, .from = from, .width = bytes, .rows = 1};
    return fake_leave(queue_copy(&copy, kind, stream));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t rows, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    FAKE_BEGIN();
    if (width > to_pitch || width > from_pitch) {
        return fake_leave(cudaErrorInvalidPitchValue);
    }
    copy_work copy = {.to = to,
                      .from = from,
                      .to_pitch = to_pitch,
                      .from_pitch = from_pitch,
                      .width = width,
                      .rows = rows};
    return fake_leave(queue_copy(&copy, kind, stream));
}

/* Also between devices that do not reach each other. */
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    FAKE_BEGIN();
    (void)to_device, (void)from_device;
    copy_work copy = {.to = to, .from = from, .width = bytes, .rows = 1};
    return fake_leave(queue_copy(&copy, cudaMemcpyDeviceToDevice, stream));
}

typedef struct fill_work {
    fake_work work;
    void *to;
    int byte;
    size_t bytes;
} fill_work;

static void run_fill(fake_work *work)
{
    const fill_work *fill = (const fill_work *)work;
    memset(fill->to, fill->byte, fill->bytes);
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t on)
{
    FAKE_BEGIN();
    enum cudaMemoryType kind;
    int device;
    struct CUstream_st *stream = fake_stream(on);
    if (!stream || !fake_find(to, bytes, &kind, &device) || kind == cudaMemoryTypeUnregistered) {
        return fake_leave(cudaErrorInvalidValue);
    }
    fill_work *fill = fake_new_work(sizeof *fill, run_fill);
    if (!fill) {
        return fake_leave(cudaErrorMemoryAllocation);
    }
    fill->work.device = kind == cudaMemoryTypeDevice ? device : fill->work.device;
    fill->to = to;
    fill->byte = byte;
    fill->bytes = bytes;
    fake_push(stream, &fill->work);
    return fake_leave(cudaSuccess);
}

/* ---- variables: the linker gives a handle's name to the function that tells the address -------
 */

static char *variable(const void *symbol)
{
    return (char *)(uintptr_t)symbol;
}

cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    FAKE_BEGIN();
    *address = variable(symbol);
    return fake_leave(cudaSuccess);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                    size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    FAKE_BEGIN();
    copy_work copy = {.to = variable(symbol) + offset, .from = from, .width = bytes, .rows = 1};
    return fake_leave(queue_copy(&copy, kind, stream));
}

cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, cudaStream_t stream)
{
    FAKE_BEGIN();
    copy_work copy = {.to = to, .from = variable(symbol) + offset, .width = bytes, .rows = 1};
    return fake_leave(queue_copy(&copy, kind, stream));
}

/* ---- textures ------------------------------------------------------------------------------ */

typedef struct fake_array {
    size_t width, height; /* bytes, rows */
    char bytes[];
} fake_array;

static int64_t live_textures;

int64_t fake_live_textures(void)
{
    return live_textures;
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format,
                            size_t width, size_t height, unsigned flags)
{
    FAKE_BEGIN();
    (void)flags;
    size_t row = width * (size_t)(format->x / 8);
    fake_array *made = malloc(sizeof *made + row * height);
    if (!made) {
        return fake_leave(cudaErrorMemoryAllocation);
    }
    made->width = row;
    made->height = height;
    *array = (cudaArray_t)made;
    live_textures++;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    cudaError_t error = fake_enter(__func__);
    fake_finish_all(-1);
    free(array);
    live_textures--;
    return fake_leave(error);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *object,
                                    const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *reading,
                                    const struct cudaResourceViewDesc *view)
{
    FAKE_BEGIN();
    (void)reading, (void)view;
    *object = (cudaTextureObject_t)(uintptr_t)resource->res.array.array;
    live_textures++;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
    cudaError_t error = fake_enter(__func__);
    (void)object;
    live_textures--;
    return fake_leave(error);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t handle, size_t across, size_t down,
                                     const void *from, size_t pitch, size_t width, size_t rows,
                                     enum cudaMemcpyKind kind, cudaStream_t on)
{
    FAKE_BEGIN();
    fake_array *array = (fake_array *)handle;
    struct CUstream_st *stream = fake_stream(on);
    enum cudaMemoryType found;
    int device;
    (void)kind;
    if (!stream || across + width > array->width || down + rows > array->height || pitch < width ||
        !fake_find(from, (rows - 1) * pitch + width, &found, &device)) {
        return fake_leave(cudaErrorInvalidValue);
    }
    copy_work *copy = fake_new_work(sizeof *copy, run_copy);
    if (!copy) {
        return fake_leave(cudaErrorMemoryAllocation);
    }
    copy->to = array->bytes + down * array->width + across;
    copy->to_pitch = array->width;
    copy->from = from;
    copy->from_pitch = pitch;
    copy->width = width;
    copy->rows = rows;
    fake_push(stream, &copy->work);
    return fake_leave(cudaSuccess);
}

/* ---- kernels ------------------------------------------------------------------------------- */

enum { KERNELS = 2048, USUAL_SHARED = 48 << 10, MOST_SHARED = 227 << 10, MOST_THREADS = 1024 };

typedef struct kernel_work {
    fake_work work;
    gm_host_kernel kernel;
    gm_dim grid, block;
    size_t shared_bytes;
    _Alignas(64) unsigned char args[GM_MAX_ARGS];
} kernel_work;

/* Dynamic shared memory that kernels may be launched with. */
static struct {
    const void *kernel;
    int bytes;
    bool loaded[FAKE_DEVICES];
} kernels[KERNELS];

static int find_kernel(const void *kernel)
{
    int at = 0;
    while (at < KERNELS - 1 && kernels[at].kernel && kernels[at].kernel != kernel) {
        at++;
    }
    if (kernels[at].kernel != kernel) {
        kernels[at].kernel = kernel;
        kernels[at].bytes = USUAL_SHARED;
    }
    return at;
}

static int *opt_in(const void *kernel)
{
    return &kernels[find_kernel(kernel)].bytes;
}

static void run_kernel(fake_work *work)
{
    kernel_work *launch = (kernel_work *)work;
    gm_error before = *gm_last_error();
    gm_poll_hook poll = gm_poll;
    gm_grid grid = {
        .module = gm_sim_kernels(),
        .own = gm_sim_kernels(),
        .kernel = {.name = "on the fake device", .plain = launch->kernel},
        .grid = launch->grid,
        .block = launch->block,
        .args = launch->args,
        .args_size = sizeof launch->args,
        .shared_bytes = launch->shared_bytes,
        .host_threads = 1,
    };
    gm_poll = NULL; /* a device does not ask whether to stop */
    if (gm_grid_run(&grid) != GM_OK) {
        fake_lose(cudaErrorIllegalAddress, gm_last_error()->message);
    }
    gm_poll = poll;
    gm_set_last_error(&before);
}

static cudaError_t queue_kernel(const void *kernel, dim3 grid, dim3 block, void **args,
                                size_t shared_bytes, cudaStream_t on)
{
    struct CUstream_st *stream = fake_stream(on);
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    bool some = grid.x > 0 && grid.y > 0 && grid.z > 0 && threads > 0;
    bool fits =
        (int64_t)grid.x <= fake_most_blocks() && grid.y <= UINT16_MAX && grid.z <= UINT16_MAX;
    if (!stream || !some || !fits || threads > MOST_THREADS || block.z > 64) {
        return cudaErrorInvalidConfiguration;
    }
    if (shared_bytes > (size_t)*opt_in(kernel)) {
        return cudaErrorInvalidValue;
    }
    if (!kernels[find_kernel(kernel)].loaded[fake_current_device()]) {
        fake_complain("a launch of a kernel that may not find memory for its code");
    }
    kernel_work *launch = aligned_alloc(64, sizeof *launch);
    fake_work *work = fake_new_work(sizeof *work, run_kernel);
    if (!launch || !work) {
        free(launch);
        free(work);
        return cudaErrorMemoryAllocation;
    }
    launch->work = *work;
    free(work);
    memcpy(&launch->kernel, &kernel, sizeof kernel);
    launch->grid = (gm_dim){grid.x, grid.y, grid.z};
    launch->block = (gm_dim){block.x, block.y, block.z};
    launch->shared_bytes = shared_bytes;
    memcpy(launch->args, args[0], sizeof launch->args); /* a plan has room for as many */
    fake_push(stream, &launch->work);
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args,
                             size_t shared_bytes, cudaStream_t stream)
{
    FAKE_BEGIN();
    return fake_leave(queue_kernel(kernel, grid, block, args, shared_bytes, stream));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **args)
{
    FAKE_BEGIN();
    return fake_leave(queue_kernel(kernel, config->gridDim, config->blockDim, args,
                                   config->dynamicSmemBytes, config->stream));
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *found, const void *kernel)
{
    FAKE_BEGIN();
    *found = (struct cudaFuncAttributes){.maxThreadsPerBlock = MOST_THREADS,
                                         .numRegs = 32,
                                         .binaryVersion = 90,
                                         .maxDynamicSharedSizeBytes = *opt_in(kernel)};
    kernels[find_kernel(kernel)].loaded[fake_current_device()] = true;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute which, int value)
{
    FAKE_BEGIN();
    if (which == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        return fake_leave(fake_has_clusters() ? cudaSuccess : cudaErrorNotSupported);
    }
    if (which != cudaFuncAttributeMaxDynamicSharedMemorySize || value > MOST_SHARED) {
        return fake_leave(cudaErrorInvalidValue);
    }
    *opt_in(kernel) = value;
    return fake_leave(cudaSuccess);
}

/* Blocks run one after the other here, so that a cluster has one. */
cudaError_t cudaOccupancyMaxPotentialClusterSize(int *blocks, const void *kernel,
                                                 const cudaLaunchConfig_t *config)
{
    FAKE_BEGIN();
    (void)kernel, (void)config;
    *blocks = 1;
    return fake_leave(fake_has_clusters() ? cudaSuccess : cudaErrorNotSupported);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel,
                                                          int threads, size_t shared_bytes)
{
    FAKE_BEGIN();
    enum { THREADS = 2048, BLOCKS = 32, SHARED = 228 << 10, RESERVED = 1 << 10 };
    int by_threads = THREADS / ((threads + GM_WARP - 1) / GM_WARP * GM_WARP);
    int by_shared = (int)(SHARED / (shared_bytes + RESERVED));
    *blocks = by_threads < BLOCKS ? by_threads : BLOCKS;
    *blocks = *blocks < by_shared ? *blocks : by_shared;
    *blocks = shared_bytes > (size_t)*opt_in(kernel) ? 0 : *blocks;
    return fake_leave(cudaSuccess);
}

/* ---- the driver's functions ---------------------------------------------------------------- */

static CUresult encode(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                       const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                       const cuuint32_t *steps, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill)
{
    static const int itemsizes[] = {[CU_TENSOR_MAP_DATA_TYPE_UINT8] = 1,
                                    [CU_TENSOR_MAP_DATA_TYPE_UINT16] = 2,
                                    [CU_TENSOR_MAP_DATA_TYPE_UINT32] = 4,
                                    [CU_TENSOR_MAP_DATA_TYPE_INT32] = 4,
                                    [CU_TENSOR_MAP_DATA_TYPE_UINT64] = 8};
    (void)steps, (void)interleave, (void)promotion, (void)fill;
    gm_tensor tensor = {.data = address,
                        .itemsize = itemsizes[type],
                        .width = (int64_t)extents[0],
                        .height = (int64_t)extents[1],
                        .pitch = (int64_t)strides[0],
                        .planes = rank > 2 ? (int64_t)extents[2] : 0,
                        .plane_pitch = rank > 2 ? (int64_t)strides[1] : 0,
                        .box_width = box[0],
                        .box_height = box[1],
                        .swizzled = swizzle == CU_TENSOR_MAP_SWIZZLE_128B};
    gm_tensor_map made;
    if (gm_sim_tensor_map(&tensor, &made) != GM_OK) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    memcpy(map, &made, sizeof made);
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    FAKE_BEGIN();
    (void)version, (void)flags;
    bool known = strcmp(name, "cuTensorMapEncodeTiled") == 0;
    *function = known ? (void *)encode : NULL;
    *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return fake_leave(cudaSuccess);
}
