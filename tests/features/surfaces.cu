// Surface objects: read and written by byte.
__global__ void turned(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        float value;
        surf2Dread(&value, from, x * (int)sizeof(float), y);
        surf2Dwrite(value * 2.0f, to, (width - 1 - x) * (int)sizeof(float), height - 1 - y);
    }
}
