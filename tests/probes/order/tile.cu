/* a padded tile is transposed, with a barrier between */
#include "../probe.h"

GM_KERNEL(order_tile, probe_args)
{
    __shared__ float tile[8][9];
    int x = threadIdx.x, y = threadIdx.y;
    if (blockIdx.x > 0) {
        return;
    }
    tile[y][x] = a.in[8 * y + x];
    __syncthreads();
    a.out[8 * y + x] = tile[x][y];
}
