// Cooperative groups: a barrier of the whole grid, in a cooperative launch.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void two_passes(const float *in, float *sums, float *out)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    __shared__ float kept[64];
    int t = block.thread_rank();
    kept[t] = in[grid.thread_rank()];
    block.sync();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) {
            kept[t] += kept[t + half];
        }
        block.sync();
    }
    if (t == 0) {
        sums[blockIdx.x] = kept[0];
    }
    grid.sync();
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; b++) {
        total += sums[b];
    }
    out[grid.thread_rank()] = in[grid.thread_rank()] / total;
}

__global__ void relax(double *a, double *b, int n, int steps)
{
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; step++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            double left = i > 0 ? a[i - 1] : 0.0, right = i < n - 1 ? a[i + 1] : 1.0;
            b[i] = 0.5 * (left + right);
        }
        grid.sync();
        double *next = a;
        a = b;
        b = next;
    }
}
