// Convolution 1D : masque en mémoire constante, données et bords en mémoire partagée.
// Les éléments hors du tableau comptent pour zéro.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <algorithm>
#include <iostream>
#include <vector>

#include <cuda_runtime.h>

// Longueur du masque (impaire).
#define MASK_LENGTH 7
#define RADIUS (MASK_LENGTH / 2)

// Le masque, dans la mémoire constante.
__constant__ float mask[MASK_LENGTH];

static void vérifier(cudaError_t état, const char *quoi)
{
    if (état != cudaSuccess) {
        std::cerr << "échec de « " << quoi << " » : " << cudaGetErrorString(état) << std::endl;
        std::exit(EXIT_FAILURE);
    }
}
#define VERIFIER(appel) vérifier((appel), #appel)

// Version simple : tout vient de la mémoire globale.
__global__ void convolution_1d_basic(const float *array, float *result, int n)
{
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    int start = tid - RADIUS;
    float temp = 0.0f;
    for (int j = 0; j < MASK_LENGTH; j++) {
        if ((start + j >= 0) && (start + j < n)) {
            temp += array[start + j] * mask[j];
        }
    }
    if (tid < n) result[tid] = temp;
}

// Chaque bloc copie ses éléments et RADIUS voisins de chaque côté.
__global__ void convolution_1d_tiled(const float *array, float *result, int n)
{
    extern __shared__ float s_array[];
    const int n_padded = blockDim.x + 2 * RADIUS;
    const int first = int(blockIdx.x * blockDim.x) - RADIUS;

    for (int offset = threadIdx.x; offset < n_padded; offset += blockDim.x) {
        int g_offset = first + offset;
        s_array[offset] = g_offset >= 0 && g_offset < n ? array[g_offset] : 0.0f;
    }
    __syncthreads();

    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= n) return;
    float temp = 0.0f;
#pragma unroll
    for (int j = 0; j < MASK_LENGTH; j++) {
        temp += s_array[threadIdx.x + j] * mask[j];
    }
    result[tid] = temp;
}

bool verify_result(const std::vector<float> &array, const float *h_mask, const std::vector<float> &result)
{
    const int n = static_cast<int>(array.size());
    for (int i = 0; i < n; i++) {
        double temp = 0;
        for (int j = 0; j < MASK_LENGTH; j++) {
            int at = i - RADIUS + j;
            if (at >= 0 && at < n) temp += double(array[at]) * h_mask[j];
        }
        if (std::fabs(temp - result[i]) > 1e-4) {
            std::cout << "résultat faux en " << i << '\n';
            return false;
        }
    }
    return true;
}

int main()
{
    const int n = 1 << 20;
    const size_t bytes_n = n * sizeof(float);
    std::vector<float> h_array(n), h_result(n);
    std::generate(begin(h_array), end(h_array), []() { return float(rand() % 100) / 10; });
    float h_mask[MASK_LENGTH];
    for (int i = 0; i < MASK_LENGTH; i++) h_mask[i] = 1.0f / (1 + i);

    float *d_array, *d_result;
    VERIFIER(cudaMalloc(&d_array, bytes_n));
    VERIFIER(cudaMalloc(&d_result, bytes_n));
    VERIFIER(cudaMemcpy(d_array, h_array.data(), bytes_n, cudaMemcpyHostToDevice));
    VERIFIER(cudaMemcpyToSymbol(mask, h_mask, sizeof(h_mask)));

    const int THREADS = 256, GRID = (n + THREADS - 1) / THREADS;
    const size_t SHMEM = (THREADS + 2 * RADIUS) * sizeof(float);

    convolution_1d_basic<<<GRID, THREADS>>>(d_array, d_result, n);
    VERIFIER(cudaMemcpy(h_result.data(), d_result, bytes_n, cudaMemcpyDeviceToHost));
    bool juste = verify_result(h_array, h_mask, h_result);

    VERIFIER(cudaMemset(d_result, 0, bytes_n));
    convolution_1d_tiled<<<GRID, THREADS, SHMEM>>>(d_array, d_result, n);
    VERIFIER(cudaMemcpy(h_result.data(), d_result, bytes_n, cudaMemcpyDeviceToHost));
    juste = juste && verify_result(h_array, h_mask, h_result);

    VERIFIER(cudaFree(d_result));
    VERIFIER(cudaFree(d_array));
    std::cout << (juste ? "OK" : "FAUX") << std::endl;
    return juste ? EXIT_SUCCESS : EXIT_FAILURE;
}
