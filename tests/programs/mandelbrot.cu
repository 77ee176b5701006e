// Mandelbrot set. Usage: mandelbrot [image.pgm]
// (written on Windows: byte order mark, CR LF)
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

#include <stdio.h>
#include <stdlib.h>

struct cuDouble2D
{
    double r;
    double i;
    __host__ __device__ cuDouble2D(double a, double b) : r(a), i(b) {}
    __host__ __device__ double magnitude2() const { return r * r + i * i; }
    __host__ __device__ cuDouble2D operator*(const cuDouble2D& a) const
    {
        return cuDouble2D(r * a.r - i * a.i, i * a.r + r * a.i);
    }
    __host__ __device__ cuDouble2D operator+(const cuDouble2D& a) const
    {
        return cuDouble2D(r + a.r, i + a.i);
    }
};

typedef struct _Window
{
    double left, top;
    double step;
} Window;

__host__ __device__ static int escape_time(cuDouble2D c, int limit)
{
    cuDouble2D z(0, 0);
    int n = 0;
    while (n < limit && z.magnitude2() <= 4.0)
    {
        z = z * z + c;
        n++;
    }
    return n;
}

__global__ void mandelbrotKernel(unsigned char *image, unsigned short *iterations,
                                 int width, int height, Window window, int limit)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int n = escape_time(cuDouble2D(window.left + x * window.step, window.top - y * window.step), limit);
    iterations[y * width + x] = (unsigned short)n;
    image[y * width + x] = n == limit ? 0 : (unsigned char)(255 - n * 255 / limit);
}

cudaError_t computeWithCuda(unsigned char *image, unsigned short *iterations, int width,
                            int height, Window window, int limit);

int main(int argc, char* argv[])
{
    const int width = 320, height = 240, limit = 200;
    Window window = { -2.25, 1.25, 2.5 / 240 };
    unsigned char *image = (unsigned char *)malloc(width * height);
    unsigned short *iterations = (unsigned short *)malloc(width * height * sizeof(short));

    cudaError_t cudaStatus = computeWithCuda(image, iterations, width, height, window, limit);
    if (cudaStatus != cudaSuccess)
    {
        fprintf(stderr, "computeWithCuda failed!\n");
        return 1;
    }

    // Multiplications and additions may be fused on the GPU: a few pixels of the edge may differ.
    int different = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
        {
            cuDouble2D c(window.left + x * window.step, window.top - y * window.step);
            different += escape_time(c, limit) != iterations[y * width + x];
        }
    printf("%d of %d pixels differ\n", different, width * height);

    if (argc > 1)
    {
        FILE *file = fopen(argv[1], "wb");
        if (file == NULL)
        {
            perror(argv[1]);
            return 1;
        }
        fprintf(file, "P5\n%d %d\n255\n", width, height);
        fwrite(image, 1, width * height, file);
        fclose(file);
    }
    free(image);
    free(iterations);

    cudaStatus = cudaDeviceReset();
    if (cudaStatus != cudaSuccess || different > width * height / 200)
        return 1;
    printf("OK\n");
    return 0;
}

// Helper function for using CUDA to compute the picture.
cudaError_t computeWithCuda(unsigned char *image, unsigned short *iterations, int width,
                            int height, Window window, int limit)
{
    unsigned char *dev_image = 0;
    unsigned short *dev_iterations = 0;
    dim3 block(16, 16);
    dim3 grid((width + 15) / 16, (height + 15) / 16);
    cudaError_t cudaStatus;

    cudaStatus = cudaSetDevice(0);
    if (cudaStatus != cudaSuccess) {
        fprintf(stderr, "cudaSetDevice failed!  Do you have a CUDA-capable GPU installed?");
        goto Error;
    }
    cudaStatus = cudaMalloc((void**)&dev_image, width * height);
    if (cudaStatus != cudaSuccess) {
        fprintf(stderr, "cudaMalloc failed!");
        goto Error;
    }
    cudaStatus = cudaMalloc((void**)&dev_iterations, width * height * sizeof(unsigned short));
    if (cudaStatus != cudaSuccess) {
        fprintf(stderr, "cudaMalloc failed!");
        goto Error;
    }

    mandelbrotKernel<<<grid, block>>>(dev_image, dev_iterations, width, height, window, limit);

    cudaStatus = cudaGetLastError();
    if (cudaStatus != cudaSuccess) {
        fprintf(stderr, "mandelbrotKernel launch failed: %s\n", cudaGetErrorString(cudaStatus));
        goto Error;
    }
    cudaStatus = cudaDeviceSynchronize();
    if (cudaStatus != cudaSuccess) {
        fprintf(stderr, "cudaDeviceSynchronize returned error code %d after launching the kernel!\n", cudaStatus);
        goto Error;
    }
    cudaStatus = cudaMemcpy(image, dev_image, width * height, cudaMemcpyDeviceToHost);
    if (cudaStatus != cudaSuccess) {
        fprintf(stderr, "cudaMemcpy failed!");
        goto Error;
    }
    cudaStatus = cudaMemcpy(iterations, dev_iterations, width * height * sizeof(unsigned short), cudaMemcpyDeviceToHost);

Error:
    cudaFree(dev_image);
    cudaFree(dev_iterations);
    return cudaStatus;
}
