// Matrix products: naive, tiled, with a tile per thread in registers, and of half precision.
#include <cuda_fp16.h>

__global__ void sgemm_naive(int M, int N, int K, float alpha, const float *A, const float *B,
                            float beta, float *C)
{
    const uint x = blockIdx.x * blockDim.x + threadIdx.x;
    const uint y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < N && y < M) {
        float tmp = 0.0;
        for (int i = 0; i < K; ++i) {
            tmp += A[y * K + i] * B[i * N + x];
        }
        C[y * N + x] = alpha * tmp + beta * C[y * N + x];
    }
}

template <int BLOCK_SIZE>
__global__ void MatrixMulCUDA(float *C, const float *A, const float *B, int wA, int wB)
{
    int bx = blockIdx.x, by = blockIdx.y;
    int tx = threadIdx.x, ty = threadIdx.y;
    int aBegin = wA * BLOCK_SIZE * by;
    int aEnd = aBegin + wA - 1;
    int aStep = BLOCK_SIZE;
    int bBegin = BLOCK_SIZE * bx;
    int bStep = BLOCK_SIZE * wB;
    float Csub = 0;

    for (int a = aBegin, b = bBegin; a <= aEnd; a += aStep, b += bStep) {
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[ty][tx] = A[a + wA * ty + tx];
        Bs[ty][tx] = B[b + wB * ty + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BLOCK_SIZE; ++k) {
            Csub += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
    }
    int c = wB * BLOCK_SIZE * by + BLOCK_SIZE * bx;
    C[c + wB * ty + tx] = Csub;
}

template __global__ void MatrixMulCUDA<16>(float *, const float *, const float *, int, int);

// A block computes 64 x 64 elements, a thread 4 x 4 of them.
__global__ void __launch_bounds__(256)
    sgemm_register_tile(const float *__restrict__ A, const float *__restrict__ B,
                        float *__restrict__ C, int M, int N, int K)
{
    constexpr int BM = 64, BN = 64, BK = 8, TM = 4, TN = 4;
    __shared__ float As[BK][BM];
    __shared__ float Bs[BK][BN];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float acc[TM][TN] = {{0.f}};
    float regA[TM], regB[TN];

    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += 256) {
            As[i % BK][i / BK] = A[(i / BK) * K + i % BK];
        }
        for (int i = threadIdx.x; i < BK * BN; i += 256) {
            Bs[i / BN][i % BN] = B[(i / BN) * N + i % BN];
        }
        __syncthreads();
        A += BK;
        B += BK * N;
        for (int k = 0; k < BK; ++k) {
            for (int i = 0; i < TM; ++i) {
                regA[i] = As[k][ty * TM + i];
            }
            for (int j = 0; j < TN; ++j) {
                regB[j] = Bs[k][tx * TN + j];
            }
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) {
                    acc[i][j] += regA[i] * regB[j];
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
            C[(ty * TM + i) * N + tx * TN + j] = acc[i][j];
        }
    }
}

__global__ void hgemm_tiled(const half *A, const half *B, half *C, int N)
{
    __shared__ half a[16][16];
    __shared__ half b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < N / 16; t++) {
        a[threadIdx.y][threadIdx.x] = A[row * N + t * 16 + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t * 16 + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) {
            sum += __half2float(a[threadIdx.y][k]) * __half2float(b[k][threadIdx.x]);
        }
        __syncthreads();
    }
    C[row * N + col] = __float2half(sum);
}
