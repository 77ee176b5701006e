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
