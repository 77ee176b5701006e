/*
 * sgemm / halves_across, a helper: a factor whose lines are contiguous as halves, turned through
 * shared memory, 64 lines by 64 steps at a time.
 *
 * Banks    a pitch of 66: the lanes of a warp read eight lines at steps 0, 4, 8 and 12, and
 *          4 * 66 = 8 (mod 32).
 */
#include "halves.h"

enum { SIDE = HALVES_LINES, PITCH = SIDE + 2, WIDE = 32, HIGH = HALVES_SPLITTERS / WIDE };

/* The largest number of each of the block's lines. */
GM_DEVICE void find_largest(const sgemm_halves_args &a, int64_t first, uint32_t (&largest)[SIDE])
{
    const int64_t line = first + threadIdx.x;
    if (threadIdx.x < SIDE) {
        uint32_t most = 0;
        for (int i = 0; i < a.slabs && line < a.from.lines; i++) {
            most = max(most, a.largest[i * a.from.lines + line]);
        }
        largest[threadIdx.x] = most;
    }
}

GM_DEVICE void load_tile(const sgemm_halves_args &a, int64_t first, int64_t depth,
                         float (&tile)[SIDE][PITCH])
{
    const int x = threadIdx.x % WIDE, y = threadIdx.x / WIDE;
#pragma unroll
    for (int i = 0; i < SIDE; i += HIGH) {
#pragma unroll
        for (int j = 0; j < SIDE; j += WIDE) {
            const int64_t k = depth + y + i, line = first + x + j;
            tile[y + i][x + j] = k < a.depth && line < a.from.lines
                                     ? a.from.data[k * a.from.depth_stride + line]
                                     : 0.0f;
        }
    }
}

/* Of the thread's line, 4 of every 16 steps. */
GM_DEVICE void store_tile(const sgemm_halves_args &a, int64_t line, int64_t depth,
                          const float (&tile)[SIDE][PITCH], const halves_scaler &by,
                          halves_count &count)
{
    const int within = threadIdx.x / 4, quarter = threadIdx.x % 4 * 4;
    const int64_t padded = halves_padded(a.depth);
#pragma unroll
    for (int i = 0; i < SIDE; i += 16) {
        const int k = i + quarter;
        if (depth + k < padded) {
            const float x[4] = {tile[k][within], tile[k + 1][within], tile[k + 2][within],
                                tile[k + 3][within]};
            halves_store(a, line, depth + k, halves_split(x, by, count));
        }
    }
}

/* The counts of four threads are those of a line; the most of the block's lines is stored. */
GM_DEVICE void store_most(const sgemm_halves_args &a, halves_count count, uint32_t padding,
                          uint32_t largest)
{
    __shared__ halves_count shared[HIGH];
    for (int lanes = 1; lanes < 4; lanes *= 2) {
        count.missing += __shfl_xor_sync(0xffffffffu, count.missing, lanes);
        count.far += __shfl_xor_sync(0xffffffffu, count.far, lanes);
    }
    count = halves_settle(count, padding, largest);
    for (int lanes = 4; lanes < 32; lanes *= 2) {
        const halves_count other = {__shfl_xor_sync(0xffffffffu, count.missing, lanes),
                                    __shfl_xor_sync(0xffffffffu, count.far, lanes)};
        count = halves_most(count, other);
    }
    if (threadIdx.x % 32 == 0) {
        shared[threadIdx.x / 32] = count;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < HIGH; warp++) {
            count = halves_most(count, shared[warp]);
        }
        a.counted[blockIdx.x] = count;
    }
}

GM_KERNEL(sgemm_halves_across, sgemm_halves_args)
{
    __shared__ float tile[SIDE][PITCH];
    __shared__ uint32_t largest[SIDE];
    const int64_t strips = (a.from.lines + SIDE - 1) / SIDE, slab = blockIdx.x / strips;
    const int64_t first = blockIdx.x % strips * SIDE, line = first + threadIdx.x / 4;
    const int64_t begin = slab * a.slab, end = min(halves_padded(a.depth), begin + a.slab);
    halves_count count = {0, 0};

    gm_wait_for_previous();
    find_largest(a, first, largest);
    __syncthreads();
    const uint32_t most = largest[threadIdx.x / 4]; /* 0 past the last line */
    const int scale = halves_scale(most);
    const halves_scaler by = halves_scale_by(scale);
    for (int64_t depth = begin; depth < end; depth += SIDE) {
        load_tile(a, first, depth, tile);
        __syncthreads();
        if (line < a.from.lines) {
            store_tile(a, line, depth, tile, by, count);
        }
        __syncthreads();
    }
    if (slab == 0 && threadIdx.x % 4 == 0 && line < a.from.lines) {
        a.scales[line] = scale;
    }
    store_most(a, count, (uint32_t)max(end - max(a.depth, begin), (int64_t)0), most);
}
