/* Launches that ask for more than a block may have, and their correct twins. */

__global__ void dynamic_shared(const float *x, float *y)
{
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

__global__ void static_and_dynamic_shared(const float *x, float *y)
{
    __shared__ float fixed[8192];
    extern __shared__ float s[];
    fixed[threadIdx.x * 64] = x[threadIdx.x];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + fixed[(blockDim.x - 1 - threadIdx.x) * 64];
}

__global__ void __launch_bounds__(128) at_most_128_threads(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2.0f * x[i];
}

__global__ void any_number_of_threads(const float *x, float *y)
{
    int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    y[i] = 2.0f * x[i];
}

/* The bound is a parameter of a template, and the arguments have commas. */
template <int threads, typename type> struct Plan {
    static constexpr int most = threads / 2;
};

namespace plans {
template <typename type, int threads>
__global__ void __launch_bounds__(Plan<threads, type>::most, 2) at_most_half(const type *x, type *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + type(1);
}
} // namespace plans

template __global__ void plans::at_most_half<float, 256>(const float *x, float *y);

/* Only the declaration has the bound. */
extern "C" __global__ __launch_bounds__(64) void declared_with_bound(const float *x, float *y);

extern "C" __global__ void declared_with_bound(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2.0f * x[i];
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256, 1, 2)
    in_clusters_of_two(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2.0f * x[i];
}

/* Each of the two arrays is small enough. */
__global__ void two_static_arrays(const float *x, float *y)
{
    __shared__ float first[8192], second[8192];
    first[threadIdx.x] = x[threadIdx.x];
    second[threadIdx.x] = first[threadIdx.x];
    y[threadIdx.x] = second[threadIdx.x];
}
