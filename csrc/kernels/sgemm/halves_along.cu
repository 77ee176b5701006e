/*
 * sgemm / halves_along, a helper: a factor whose depth is contiguous as halves, a line per block.
 */
#include "halves.h"

enum { THREADS = HALVES_SPLITTERS, WARPS = THREADS / 32 };

/* Four numbers from step k on; zeros past the depth. */
template <bool whole>
GM_DEVICE void load_four(float (&x)[4], const sgemm_halves_args &a, const float *from, int64_t k)
{
    const int64_t left = a.depth - k;
    const float4 v =
        whole ? *(const float4 *)(from + k) : sgemm_load_some(from + k, (int)min(left, (int64_t)4));
    x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
}

/* The largest of the block's values, and their sum, in all threads. */
GM_DEVICE uint32_t block_max(uint32_t value, uint32_t (&shared)[WARPS])
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        value = max(value, __shfl_xor_sync(0xffffffffu, value, lanes));
    }
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = value;
    }
    __syncthreads();
    for (int warp = 0; warp < WARPS; warp++) {
        value = max(value, shared[warp]);
    }
    return value;
}

GM_DEVICE uint32_t block_sum(uint32_t value, uint32_t (&shared)[WARPS])
{
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        value += __shfl_xor_sync(0xffffffffu, value, lanes);
    }
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = value;
    }
    __syncthreads();
    value = 0;
    for (int warp = 0; warp < WARPS; warp++) {
        value += shared[warp];
    }
    return value;
}

template <bool whole>
GM_DEVICE void split_line(const sgemm_halves_args &a, int64_t line, uint32_t (&shared)[3][WARPS])
{
    const float *from = a.from.data + line * a.from.line_stride;
    const int64_t padded = halves_padded(a.depth);
    uint32_t largest = 0;
    halves_count count = {0, 0};
    float x[4];

#pragma unroll 8
    for (int64_t k = threadIdx.x * 4; k < a.depth; k += THREADS * 4) {
        load_four<whole>(x, a, from, k);
        largest = max(max(largest, max(halves_magnitude(x[0]), halves_magnitude(x[1]))),
                      max(halves_magnitude(x[2]), halves_magnitude(x[3])));
    }
    largest = block_max(largest, shared[0]);
    const int scale = halves_scale(largest);
    const halves_scaler by = halves_scale_by(scale);
#pragma unroll 8
    for (int64_t k = threadIdx.x * 4; k < a.depth; k += THREADS * 4) {
        load_four<whole>(x, a, from, k);
        halves_store(a, line, k, halves_split(x, by, count));
    }
    for (int64_t k = (a.depth + 3) / 4 * 4 + threadIdx.x * 4; k < padded; k += THREADS * 4) {
        const halves_four none = {0, 0};
        halves_store(a, line, k, none);
    }
    count.missing = block_sum(count.missing, shared[1]);
    count.far = block_sum(count.far, shared[2]);
    if (threadIdx.x == 0) {
        a.counted[line] = halves_settle(count, (uint32_t)(-a.depth & 3), largest);
        a.scales[line] = scale;
    }
}

GM_KERNEL(sgemm_halves_along, sgemm_halves_args)
{
    __shared__ uint32_t shared[3][WARPS];
    gm_wait_for_previous();
    if (a.from.vectors && a.depth % 4 == 0) {
        split_line<true>(a, blockIdx.x, shared);
    } else {
        split_line<false>(a, blockIdx.x, shared);
    }
}
