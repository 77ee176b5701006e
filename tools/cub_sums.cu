// CUB's sums, scans and histograms behind C functions, for tools/measure_sums.py.
//
// Each returns a cudaError_t. Without memory it stores how many bytes it needs, as CUB's functions
// do.
#include <cub/cub.cuh>

#include <stdint.h>

enum { INT32, INT64, FLOAT32, FLOAT64 };

#define BY_TYPE(type, job)                                                                         \
    switch (type) {                                                                                \
    case INT32: return job(int32_t);                                                               \
    case INT64: return job(int64_t);                                                               \
    case FLOAT32: return job(float);                                                               \
    case FLOAT64: return job(double);                                                              \
    default: return cudaErrorInvalidValue;                                                         \
    }

#define SUM(number)                                                                                \
    cub::DeviceReduce::Sum(memory, *bytes, (const number *)in, (number *)out, count, stream)
#define SCAN(number)                                                                               \
    cub::DeviceScan::InclusiveSum(memory, *bytes, (const number *)in, (number *)out, count, stream)

extern "C" int cub_reduce(int type, void *memory, size_t *bytes, const void *in, void *out,
                          int64_t count, cudaStream_t stream)
{
    BY_TYPE(type, SUM)
}

extern "C" int cub_scan(int type, void *memory, size_t *bytes, const void *in, void *out,
                        int64_t count, cudaStream_t stream)
{
    BY_TYPE(type, SCAN)
}

// `type` is that of the counters, which is always INT32.
extern "C" int cub_histogram(int type, void *memory, size_t *bytes, const void *in, void *out,
                             int64_t count, cudaStream_t stream)
{
    return type != INT32
               ? cudaErrorInvalidValue
               : cub::DeviceHistogram::HistogramEven(memory, *bytes, (const uint8_t *)in,
                                                     (int32_t *)out, 257, 0, 256, count, stream);
}
