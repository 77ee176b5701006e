// Launches of an empty kernel in several ways, timed on the host and on the device, behind a C
// function for tools/measure_launches.py. Each function returns a cudaError_t.
#include <cuda_runtime.h>

#include <time.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            return error;                                                                          \
        }                                                                                          \
    } while (0)

enum { WAITING, QUEUED, PROGRAMMATIC, GRAPH };
enum { MOST_STREAMS = 32, MOST_TRIES = 12 };

static cudaStream_t streams[MOST_STREAMS];
static cudaEvent_t begin, end, done[MOST_STREAMS];
static long long hold_cycles = 1 << 20; // doubled until the host queues everything meanwhile

__global__ void empty()
{
}

// Lets the next launch begin at once, where that launch is a programmatic one.
__global__ void empty_programmatic()
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Keeps the device busy until the host has queued what is to be timed.
__global__ void hold(long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

static double microseconds()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

static cudaError_t make_once()
{
    if (begin != nullptr) {
        return cudaSuccess;
    }
    for (int i = 0; i < MOST_STREAMS; i++) {
        TRY(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        TRY(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    }
    TRY(cudaEventCreate(&end));
    return cudaEventCreate(&begin);
}

static cudaError_t launch_programmatic(cudaStream_t stream)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, empty_programmatic);
}

// The launches, to so many streams in turn.
static cudaError_t queue(int kind, int launches, int count)
{
    for (int i = 0; i < launches; i++) {
        if (kind == PROGRAMMATIC) {
            TRY(launch_programmatic(streams[i % count]));
            continue;
        }
        empty<<<1, 32, 0, streams[i % count]>>>();
        if (kind == WAITING) {
            TRY(cudaStreamSynchronize(streams[0]));
        }
    }
    return cudaGetLastError();
}

// The other streams wait for the first one, which has recorded `begin`.
static cudaError_t fork_streams(int count)
{
    for (int i = 1; i < count; i++) {
        TRY(cudaStreamWaitEvent(streams[i], begin, 0));
    }
    return cudaSuccess;
}

// The first stream waits for the others.
static cudaError_t join_streams(int count)
{
    for (int i = 1; i < count; i++) {
        TRY(cudaEventRecord(done[i], streams[i]));
        TRY(cudaStreamWaitEvent(streams[0], done[i], 0));
    }
    return cudaSuccess;
}

static cudaError_t capture(int launches, int count, cudaGraph_t *graph)
{
    TRY(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
    TRY(cudaEventRecord(begin, streams[0]));
    TRY(fork_streams(count));
    TRY(queue(QUEUED, launches, count));
    TRY(join_streams(count));
    return cudaStreamEndCapture(streams[0], graph);
}

// Queues everything behind a hold. `late` says that the hold ended before all was queued.
static cudaError_t time_once(int kind, int launches, int count, cudaGraphExec_t graph,
                             double *host_us, double *device_us, bool *late)
{
    hold<<<1, 1, 0, streams[0]>>>(hold_cycles);
    TRY(cudaEventRecord(begin, streams[0]));
    if (kind != GRAPH) {
        TRY(fork_streams(count));
    }
    const double start = microseconds();
    TRY(kind == GRAPH ? cudaGraphLaunch(graph, streams[0]) : queue(kind, launches, count));
    *host_us = (microseconds() - start) / launches;
    if (kind != GRAPH) {
        TRY(join_streams(count));
    }
    TRY(cudaEventRecord(end, streams[0]));
    const cudaError_t over = cudaEventQuery(begin);
    *late = over == cudaSuccess;
    if (over == cudaErrorNotReady) {
        cudaGetLastError(); // it is no failure
    } else {
        TRY(over);
    }
    TRY(cudaEventSynchronize(end));
    float ms = 0;
    TRY(cudaEventElapsedTime(&ms, begin, end));
    *device_us = ms * 1e3 / launches;
    return cudaSuccess;
}

// Each launch is waited for: what passes from one to the next, on the host's clock.
static cudaError_t time_waiting(int launches, double *host_us)
{
    const double start = microseconds();
    TRY(queue(WAITING, launches, 1));
    *host_us = (microseconds() - start) / launches;
    return cudaSuccess;
}

static cudaError_t time_queued(int kind, int launches, int count, cudaGraphExec_t graph,
                               double *host_us, double *device_us)
{
    bool late = true;
    for (int i = 0; late && i < MOST_TRIES; i++) {
        TRY(time_once(kind, launches, count, graph, host_us, device_us, &late));
        if (late) {
            hold_cycles *= 2;
        }
    }
    return late ? cudaErrorNotReady : cudaSuccess; // the host was later than any hold
}

static cudaError_t time_graph(int launches, int count, double *host_us, double *device_us,
                              double *making_us)
{
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    const double start = microseconds();
    cudaError_t error = capture(launches, count, &graph);
    if (error == cudaSuccess) {
        error = cudaGraphInstantiate(&ready, graph, 0);
    }
    *making_us = (microseconds() - start) / launches;
    if (error == cudaSuccess) {
        error = cudaGraphLaunch(ready, streams[0]); // the first one uploads it
    }
    if (error == cudaSuccess) {
        error = time_queued(GRAPH, launches, count, ready, host_us, device_us);
    }
    if (ready != nullptr) {
        cudaGraphExecDestroy(ready);
    }
    if (graph != nullptr) {
        cudaGraphDestroy(graph);
    }
    return error;
}

// Microseconds per launch: the host's for queueing it, the device's from launch to launch, and the
// host's for making a graph of it. Those that a way does not have stay as they are.
extern "C" int launches_measure(int kind, int launches, int count, double *host_us,
                                double *device_us, double *making_us)
{
    if (launches < 1 || count < 1 || count > MOST_STREAMS) {
        return cudaErrorInvalidValue;
    }
    TRY(make_once());
    TRY(cudaDeviceSynchronize());
    if (kind == WAITING) {
        return time_waiting(launches, host_us);
    }
    if (kind == GRAPH) {
        return time_graph(launches, count, host_us, device_us, making_us);
    }
    return time_queued(kind, launches, count, nullptr, host_us, device_us);
}

extern "C" const char *launches_error(int error)
{
    return cudaGetErrorName((cudaError_t)error);
}
