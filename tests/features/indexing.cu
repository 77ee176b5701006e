// Indices: grid-stride loops, two and three dimensions, 64 bits.
__global__ void saxpy(size_t n, float a, const float *x, float *y)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = a * x[i] + y[i];
    }
}

__global__ void in_two(int *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        out[y * width + x] = x * 1000 + y;
    }
}

__global__ void in_three(int *out, uint3 size)
{
    dim3 at(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y,
            blockIdx.z * blockDim.z + threadIdx.z);
    if (at.x < size.x && at.y < size.y && at.z < size.z) {
        out[(at.z * size.y + at.y) * size.x + at.x] = at.x + 100 * at.y + 10000 * at.z;
    }
}

__global__ void linear_rank(int *out)
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = (int)(thread % warpSize + 100 * (thread / warpSize));
}

__global__ void strided_rows(const double *in, double *out, long long pitch, long long rows)
{
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const double *here = (const double *)((const char *)in + row * pitch);
        out[row * blockDim.x + threadIdx.x] = here[threadIdx.x] * 2;
    }
}
