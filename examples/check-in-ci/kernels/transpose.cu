/* out = in transposed, one element per thread: reads rows, writes columns. */
#include <vector>

#include "must.h"

__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < rows && col < cols) {
        out[col * rows + row] = in[row * cols + col]; /* neighbours write far from each other */
    }
}

int main()
{
    const int side = 1024;
    std::vector<float> in(side * side), out(side * side);
    for (int i = 0; i < side * side; i++) {
        in[i] = i;
    }
    float *device_in, *device_out;
    MUST(cudaMalloc(&device_in, in.size() * sizeof(float)));
    MUST(cudaMalloc(&device_out, out.size() * sizeof(float)));
    MUST(cudaMemcpy(device_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice));
    transpose<<<dim3(side / 32, side / 8), dim3(32, 8)>>>(device_in, device_out, side, side);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(out.data(), device_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("out[1] = %g, expected %d\n", out[1], side);
    return out[1] == side ? 0 : 1;
}
