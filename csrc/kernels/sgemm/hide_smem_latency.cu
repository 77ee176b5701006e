/*
 * sgemm / hide_smem_latency: the next step's numbers are read while this one is computed.
 *
 * Follows  smem_transposed.
 * Idea     a thread has two sets of 8 + 8 registers: it reads step k + 1 from shared memory before
 *          it computes the 64 products of step k, which hide the latency.
 * Cost     16 more registers. With two blocks per multiprocessor other warps compute meanwhile
 *          anyway: on an H200 it is no faster, and still waits for global memory between tiles.
 */
#include "tiles.h"

GM_KERNEL_BOUNDED(sgemm_hide_smem_latency, sgemm_args, 256, 2)
{
    __shared__ __align__(16) float tile_a[STEPS][PITCH];
    __shared__ __align__(16) float tile_b[STEPS][PITCH];

    float4 held_a[2], held_b[2];
    float of_a[2][8], of_b[2][8], sum[8][8] = {};

    /* A grid has at most 65535 blocks in y; z counts on where y ends. */
    const int64_t row = ((int64_t)blockIdx.z * gridDim.y + blockIdx.y) * TILE;
    const int64_t column = (int64_t)blockIdx.x * TILE;
    tile_source source_a = tile_begin(a.a, row), source_b = tile_begin(a.b, column);
    const int y = sgemm_thread_y() * 4, x = sgemm_thread_x() * 4;

    for (int64_t first = 0; first < a.depth; first += STEPS) {
        tile_load(held_a, a.a, source_a, a.depth - first);
        tile_load(held_b, a.b, source_b, a.depth - first);
        __syncthreads(); /* all have read the previous tiles */
        tile_store(tile_a, held_a, a.a);
        tile_store(tile_b, held_b, a.b);
        __syncthreads();
        tile_read(of_a[0], tile_a[0], y);
        tile_read(of_b[0], tile_b[0], x);
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            if (k + 1 < STEPS) {
                tile_read(of_a[(k + 1) % 2], tile_a[k + 1], y);
                tile_read(of_b[(k + 1) % 2], tile_b[k + 1], x);
            }
            sgemm_multiply<SGEMM_TO_AND_FRO>(sum, of_a[k % 2], of_b[k % 2]);
        }
    }
    sgemm_store_squares(a, row, column, sum);
}
