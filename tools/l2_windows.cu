// A region that is read again and again while another one streams past it, with or without a window
// of the L2 on the stream: behind C functions for tools/measure_l2_windows.py. Each returns a
// cudaError_t.
#include <cuda_runtime.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            return error;                                                                          \
        }                                                                                          \
    } while (0)

enum { THREADS = 256, BLOCKS = 8, WARP = 32 }; // blocks per multiprocessor
enum { CHUNK = WARP * sizeof(uint4) };         // bytes that a warp reads at once
enum { NO_HINT, STREAM_EVICTED_FIRST, HOT_EVICTED_LAST };

static cudaStream_t stream;
static cudaEvent_t begin, end;
static uint4 *hot, *streamed, *unused;
static size_t hot_bytes, streamed_bytes, limit_before;
static int multiprocessors;

// Past the L1, so that the L2 answers or memory does.
__device__ __forceinline__ uint4 load(const uint4 *from)
{
    uint4 found;
    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(found.x), "=r"(found.y), "=r"(found.z), "=r"(found.w)
                 : "l"(from));
    return found;
}

// With a cache policy of createpolicy.
__device__ __forceinline__ uint4 load_by(const uint4 *from, unsigned long long policy)
{
    uint4 found;
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(found.x), "=r"(found.y), "=r"(found.z), "=r"(found.w)
                 : "l"(from), "l"(policy));
    return found;
}

__device__ __forceinline__ unsigned mix(unsigned x)
{
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}

// A step of a warp: a chunk of the hot region, at random or in turn, and `times` of the stream.
template <int times, int hint>
__global__ void __launch_bounds__(THREADS)
    read_both(const uint4 *hot, unsigned hot_chunks, bool random, const uint4 *streamed,
              unsigned steps, uint4 *unused)
{
    const unsigned lane = threadIdx.x % WARP, warps = gridDim.x * (THREADS / WARP);
    const unsigned warp = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    unsigned long long policy = 0;
    uint4 sum = make_uint4(0, 0, 0, 0);
    if (hint == STREAM_EVICTED_FIRST) {
        asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    } else if (hint == HOT_EVICTED_LAST) {
        asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    }
#pragma unroll 2
    for (unsigned step = warp; step < steps; step += warps) {
        uint4 found[times + 1];
        found[times] = make_uint4(0, 0, 0, 0);
        if (hot_chunks > 0) {
            const unsigned chunk = random ? __umulhi(mix(step), hot_chunks) : step % hot_chunks;
            const uint4 *from = hot + (size_t)chunk * WARP + lane;
            found[times] = hint == HOT_EVICTED_LAST ? load_by(from, policy) : load(from);
        }
#pragma unroll
        for (int i = 0; i < times; i++) {
            const uint4 *from = streamed + ((size_t)step * times + i) * WARP + lane;
            found[i] = hint == STREAM_EVICTED_FIRST ? load_by(from, policy) : load(from);
        }
#pragma unroll
        for (int i = 0; i <= times; i++) {
            sum.x ^= found[i].x, sum.y ^= found[i].y, sum.z ^= found[i].z, sum.w ^= found[i].w;
        }
    }
    if ((sum.x | sum.y | sum.z | sum.w) != 0) { // never: all memory is 0
        *unused = sum;
    }
}

template <int times, int hint> static cudaError_t launch(size_t bytes, bool random)
{
    const unsigned steps = (unsigned)(streamed_bytes / CHUNK / times);
    read_both<times, hint><<<multiprocessors * BLOCKS, THREADS, 0, stream>>>(
        hot, (unsigned)(bytes / CHUNK), random, streamed, steps, unused);
    return cudaGetLastError();
}

template <int times> static cudaError_t launch_hinted(int hint, size_t bytes, bool random)
{
    switch (hint) {
    case NO_HINT: return launch<times, NO_HINT>(bytes, random);
    case STREAM_EVICTED_FIRST: return launch<times, STREAM_EVICTED_FIRST>(bytes, random);
    case HOT_EVICTED_LAST: return launch<times, HOT_EVICTED_LAST>(bytes, random);
    }
    return cudaErrorInvalidValue;
}

static cudaError_t launch_by(int times, int hint, size_t bytes, bool random)
{
    switch (times) {
    case 1: return launch_hinted<1>(hint, bytes, random);
    case 4: return launch_hinted<4>(hint, bytes, random);
    }
    return cudaErrorInvalidValue;
}

// A window of 0 bytes is none.
static cudaError_t set_window(size_t bytes, double hit_ratio, size_t set_aside)
{
    cudaStreamAttrValue value = {};
    value.accessPolicyWindow.base_ptr = hot;
    value.accessPolicyWindow.num_bytes = bytes;
    value.accessPolicyWindow.hitRatio = (float)hit_ratio;
    value.accessPolicyWindow.hitProp =
        bytes > 0 ? cudaAccessPropertyPersisting : cudaAccessPropertyNormal;
    value.accessPolicyWindow.missProp =
        bytes > 0 ? cudaAccessPropertyStreaming : cudaAccessPropertyNormal;
    TRY(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, set_aside));
    return cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
}

// No window, nothing set aside, and no line of the L2 that persists.
static cudaError_t take_back()
{
    const cudaError_t window = set_window(0, 0, 0);
    const cudaError_t lines = cudaCtxResetPersistingL2Cache();
    return window != cudaSuccess ? window : lines;
}

// The time of several launches in a row, after one that does not count.
static cudaError_t time_launches(int times, int hint, size_t bytes, bool random, int launches,
                                 double *ms)
{
    float passed = 0;
    TRY(launch_by(times, hint, bytes, random));
    TRY(cudaEventRecord(begin, stream));
    for (int i = 0; i < launches; i++) {
        TRY(launch_by(times, hint, bytes, random));
    }
    TRY(cudaEventRecord(end, stream));
    TRY(cudaEventSynchronize(end));
    TRY(cudaEventElapsedTime(&passed, begin, end));
    *ms = (double)passed / launches;
    return cudaSuccess;
}

// Allocates both regions; the largest set-aside and window of the device, in bytes.
extern "C" int windows_open(unsigned long long most_hot, unsigned long long to_stream,
                            unsigned long long *most_set_aside, unsigned long long *most_window)
{
    int device = 0, set_aside = 0, window = 0;
    hot_bytes = (size_t)most_hot;
    streamed_bytes = (size_t)to_stream;
    TRY(cudaGetDevice(&device));
    TRY(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    TRY(cudaDeviceGetAttribute(&set_aside, cudaDevAttrMaxPersistingL2CacheSize, device));
    TRY(cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, device));
    *most_set_aside = (unsigned long long)set_aside;
    *most_window = (unsigned long long)window;
    TRY(cudaDeviceGetLimit(&limit_before, cudaLimitPersistingL2CacheSize));
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(cudaEventCreate(&begin));
    TRY(cudaEventCreate(&end));
    TRY(cudaMalloc(&hot, hot_bytes));
    TRY(cudaMalloc(&streamed, streamed_bytes));
    TRY(cudaMalloc(&unused, sizeof(uint4)));
    TRY(cudaMemset(hot, 0, hot_bytes));
    TRY(cudaMemset(streamed, 0, streamed_bytes));
    return cudaDeviceSynchronize();
}

// Milliseconds of a launch that reads `bytes` of the hot region over and over: a chunk for each
// `times` chunks of the stream. 0 bytes: the stream alone. The device is left without a window.
extern "C" int windows_measure(int times, int hint, int random, unsigned long long bytes,
                               unsigned long long window_bytes, double hit_ratio,
                               unsigned long long set_aside, int launches, double *ms)
{
    if (launches < 1 || bytes > hot_bytes || window_bytes > bytes || bytes % CHUNK != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = set_window((size_t)window_bytes, hit_ratio, (size_t)set_aside);
    if (error == cudaSuccess) {
        error = time_launches(times, hint, (size_t)bytes, random != 0, launches, ms);
    }
    const cudaError_t left = take_back();
    return error != cudaSuccess ? error : left;
}

// Leaves the device as it was.
extern "C" int windows_close()
{
    const cudaError_t limit = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, limit_before);
    cudaFree(hot);
    cudaFree(streamed);
    cudaFree(unused);
    return limit;
}

extern "C" const char *windows_error(int error)
{
    return cudaGetErrorName((cudaError_t)error);
}
