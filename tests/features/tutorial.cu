// A whole program, as tutorials have it: error checks, allocation, copies, a launch, a comparison.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));        \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

template <typename T> __global__ void fill(T *out, T value, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        out[i] = value;
    }
}

static bool same(const std::vector<float> &got, const std::vector<float> &wanted)
{
    for (size_t i = 0; i < got.size(); i++) {
        if (got[i] != wanted[i]) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1 << 16;
    size_t bytes = n * sizeof(float);
    std::vector<float> a(n, 1.5f), b(n), c(n), wanted(n);
    for (int i = 0; i < n; i++) {
        b[i] = i;
        wanted[i] = a[i] + b[i];
    }

    float *d_a, *d_b, *d_c;
    CHECK(cudaMalloc(&d_a, bytes));
    CHECK(cudaMalloc((void **)&d_b, bytes));
    CHECK(cudaMalloc(&d_c, bytes));
    CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));

    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    dim3 block(256), grid((n + block.x - 1) / block.x);
    fill<float><<<grid, block>>>(d_a, 1.5f, n);
    CHECK(cudaEventRecord(begin));
    vector_add<<<grid, block, 0, 0>>>(d_a, d_b, d_c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(end));
    CHECK(cudaDeviceSynchronize());
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost));
    printf("%s, %.3f ms\n", same(c, wanted) ? "passed" : "failed", ms);

    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
    return 0;
}
