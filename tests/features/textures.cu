// Texture objects: points, filtered and normalised reads.
__global__ void points(cudaTextureObject_t texture, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        out[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
    }
}

__global__ void shifted(cudaTextureObject_t texture, float *out, int width, int height, float dx,
                        float dy)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        out[y * width + x] = tex2D<float>(texture, x + 0.5f + dx, y + 0.5f + dy);
    }
}

__global__ void linear_memory(cudaTextureObject_t texture, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = tex1Dfetch<float>(texture, n - 1 - i);
    }
}
