/* y = a * x + y. */
#include <vector>

#include "must.h"

__global__ void saxpy(const float *x, float *y, int n, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}

int main()
{
    const int n = 1 << 20;
    std::vector<float> x(n, 1.0f), y(n, 2.0f);
    float *device_x, *device_y;
    MUST(cudaMalloc(&device_x, n * sizeof(float)));
    MUST(cudaMalloc(&device_y, n * sizeof(float)));
    MUST(cudaMemcpy(device_x, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(device_y, y.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    saxpy<<<(n + 255) / 256, 256>>>(device_x, device_y, n, 2.0f);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(y.data(), device_y, n * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("y[0] = %g, expected 4\n", y[0]);
    return y[0] == 4.0f ? 0 : 1;
}
