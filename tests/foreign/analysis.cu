// Data analysis: nearest centres, a search in text, compaction, an estimate of pi.
#include <stdint.h>

constexpr int DIMS = 4, MAX_K = 16;

__global__ void kmeans_assign(const float *points, const float *centroids, int *labels, float *sums,
                              int *counts, int n, int k)
{
    __shared__ float local_sums[MAX_K * DIMS];
    __shared__ int local_counts[MAX_K];
    __shared__ float centres[MAX_K * DIMS];
    for (int i = threadIdx.x; i < k * DIMS; i += blockDim.x) {
        centres[i] = centroids[i];
        local_sums[i] = 0.f;
    }
    if (threadIdx.x < k) {
        local_counts[threadIdx.x] = 0;
    }
    __syncthreads();

    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float p[DIMS], best = 3.4e38f;
        int label = 0;
        for (int d = 0; d < DIMS; d++) {
            p[d] = points[i * DIMS + d];
        }
        for (int c = 0; c < k; c++) {
            float dist = 0;
            for (int d = 0; d < DIMS; d++) {
                float diff = p[d] - centres[c * DIMS + d];
                dist += diff * diff;
            }
            if (dist < best) {
                best = dist;
                label = c;
            }
        }
        labels[i] = label;
        atomicAdd(&local_counts[label], 1);
        for (int d = 0; d < DIMS; d++) {
            atomicAdd(&local_sums[label * DIMS + d], p[d]);
        }
    }
    __syncthreads();
    for (int j = threadIdx.x; j < k * DIMS; j += blockDim.x) {
        atomicAdd(&sums[j], local_sums[j]);
    }
    if (threadIdx.x < k) {
        atomicAdd(&counts[threadIdx.x], local_counts[threadIdx.x]);
    }
}

__constant__ char pattern[] = "ACGA";

__global__ void find_all(const char *text, int length, int *found, int *positions)
{
    const int m = sizeof(pattern) - 1;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + m > length) {
        return;
    }
    bool match = true;
    for (int j = 0; j < m && match; j++) {
        match = text[i + j] == pattern[j];
    }
    if (match) {
        positions[atomicAdd(found, 1)] = i;
    }
}

__global__ void compact(const int *in, int *out, int *total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int value = i < n ? in[i] : 0;
    bool keep = i < n && (value & 3) == 0;
    unsigned mask = __ballot_sync(0xffffffff, keep);
    int leader = __ffs(mask) - 1;
    int base = 0;
    if (lane == leader) {
        base = atomicAdd(total, __popc(mask));
    }
    base = __shfl_sync(0xffffffff, base, leader < 0 ? 0 : leader);
    if (keep) {
        out[base + __popc(mask & ((1u << lane) - 1))] = value;
    }
}

struct XorShift {
    uint32_t state;
    __device__ explicit XorShift(uint32_t seed) : state(seed * 747796405u + 2891336453u)
    {
    }
    __device__ float next()
    {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        return (state >> 8) * (1.0f / 16777216.0f);
    }
};

__global__ void monte_carlo_pi(unsigned long long *hits, int samples)
{
    unsigned tid = threadIdx.x + blockIdx.x * blockDim.x;
    XorShift rng(tid + 1);
    unsigned inside = 0;
    for (int s = 0; s < samples; s++) {
        float x = rng.next(), y = rng.next();
        if (__fmaf_rn(x, x, y * y) <= 1.0f) {
            inside++;
        }
    }
    for (int o = 16; o > 0; o /= 2) {
        inside += __shfl_down_sync(0xffffffffu, inside, o);
    }
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(hits, (unsigned long long)inside);
    }
}
