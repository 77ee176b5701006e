// __device__ and __managed__ variables: read, written, and counted with atomics.
__device__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ unsigned counter;
static __device__ float scratch[256];
__device__ double matrix[2][2] = {{1, 2}, {3, 4}};
__managed__ int managed_offset = 100;

__global__ void from_table(int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = primes[i % 8] + managed_offset;
}

__global__ void tickets(unsigned *out, unsigned *order)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        counter = 5;
    }
    __syncthreads();
    unsigned ticket = atomicAdd(&counter, 1u);
    out[ticket - 5] = 1;
    order[threadIdx.x] = ticket < 5 + blockDim.x;
}

__global__ void through_scratch(const float *in, float *out)
{
    scratch[threadIdx.x] = in[threadIdx.x] * 2.0f;
    __syncthreads();
    out[threadIdx.x] = scratch[255 - threadIdx.x];
}

__global__ void apply_matrix(const double *in, double *out)
{
    double x = in[2 * threadIdx.x], y = in[2 * threadIdx.x + 1];
    out[2 * threadIdx.x] = matrix[0][0] * x + matrix[0][1] * y;
    out[2 * threadIdx.x + 1] = matrix[1][0] * x + matrix[1][1] * y;
}
