// Softmax and layer norm, a block or a warp per row.
#include <cfloat>
#include <cmath>

__global__ void softmax_forward(float *out, const float *inp, int N, int C)
{
    extern __shared__ float shared[];
    int idx = blockIdx.x;
    int tid = threadIdx.x;
    int block_size = blockDim.x;
    const float *x = inp + idx * C;

    float maxval = -INFINITY;
    for (int i = tid; i < C; i += block_size) {
        maxval = fmaxf(maxval, x[i]);
    }
    shared[tid] = maxval;
    __syncthreads();
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        if (tid < stride) {
            shared[tid] = fmaxf(shared[tid], shared[tid + stride]);
        }
        __syncthreads();
    }
    float offset = shared[0];
    __syncthreads();

    float sumval = 0.0f;
    for (int i = tid; i < C; i += block_size) {
        float e = expf(x[i] - offset);
        out[idx * C + i] = e;
        sumval += e;
    }
    shared[tid] = sumval;
    __syncthreads();
    for (int stride = block_size / 2; stride >= 1; stride /= 2) {
        if (tid < stride) {
            shared[tid] += shared[tid + stride];
        }
        __syncthreads();
    }
    float sum = shared[0];
    for (int i = tid; i < C; i += block_size) {
        out[idx * C + i] = out[idx * C + i] / sum;
    }
}

struct __align__(8) MD
{
    float m;
    float d;
};

__device__ __forceinline__ MD combine(MD a, MD b)
{
    bool bigger = a.m > b.m;
    MD big = bigger ? a : b, small = bigger ? b : a;
    return MD{big.m, big.d + small.d * __expf(small.m - big.m)};
}

// Maximum and sum in one pass, a warp per row.
__global__ void softmax_online(const float *__restrict__ x, float *__restrict__ y, int rows,
                               int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) {
        return;
    }
    x += row * cols;
    y += row * cols;
    MD md = {-FLT_MAX, 0.0f};
    for (int c = threadIdx.x; c < cols; c += 32) {
        md = combine(md, MD{x[c], 1.0f});
    }
    for (int o = 16; o; o >>= 1) {
        MD other = {__shfl_xor_sync(0xffffffffu, md.m, o), __shfl_xor_sync(0xffffffffu, md.d, o)};
        md = combine(md, other);
    }
    float inv = __fdividef(1.0f, md.d);
    for (int c = threadIdx.x; c < cols; c += 32) {
        y[c] = __expf(x[c] - md.m) * inv;
    }
}

__global__ void layernorm(float *out, float *mean, float *rstd, const float *inp,
                          const float *weight, const float *bias, int C)
{
    __shared__ float s_sum[4], s_sum2[4];
    const float *x = inp + blockIdx.x * C;
    float sum = 0.f, sum2 = 0.f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        float v = x[i];
        sum += v;
        sum2 += v * v;
    }
    for (int mask = 16; mask > 0; mask >>= 1) {
        sum += __shfl_xor_sync(0xffffffff, sum, mask);
        sum2 += __shfl_xor_sync(0xffffffff, sum2, mask);
    }
    if (threadIdx.x % 32 == 0) {
        s_sum[threadIdx.x / 32] = sum;
        s_sum2[threadIdx.x / 32] = sum2;
    }
    __syncthreads();
    sum = s_sum[0] + s_sum[1] + s_sum[2] + s_sum[3];
    sum2 = s_sum2[0] + s_sum2[1] + s_sum2[2] + s_sum2[3];
    float m = sum / C, s = rsqrtf(sum2 / C - m * m + 1e-5f);
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = m;
        rstd[blockIdx.x] = s;
    }
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        out[blockIdx.x * C + i] = s * (x[i] - m) * weight[i] + bias[i];
    }
}
