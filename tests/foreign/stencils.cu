// Stencils: five points in two dimensions, seven in three, and a tile with its halo.
#define IDX2(x, y) ((y)*nx + (x))
#define IDX3(x, y, z) (((z)*ny + (y)) * nx + (x))

__global__ void laplace2d(const float *__restrict__ u, float *__restrict__ v, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
        v[IDX2(x, y)] =
            0.25f * (u[IDX2(x - 1, y)] + u[IDX2(x + 1, y)] + u[IDX2(x, y - 1)] + u[IDX2(x, y + 1)]);
    }
}

// Walks along z and keeps the column in registers.
__global__ void heat3d(const double *in, double *out, int nx, int ny, int nz, double r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) {
        return;
    }
    double below = in[IDX3(x, y, 0)], here = in[IDX3(x, y, 1)];
    for (int z = 1; z < nz - 1; z++) {
        double above = in[IDX3(x, y, z + 1)];
        double sum = in[IDX3(x - 1, y, z)] + in[IDX3(x + 1, y, z)] + in[IDX3(x, y - 1, z)] +
                     in[IDX3(x, y + 1, z)] + below + above;
        out[IDX3(x, y, z)] = here + r * (sum - 6.0 * here);
        below = here;
        here = above;
    }
}

const int TILE_W = 32, TILE_H = 8, RADIUS = 2;

__global__ void blurTiled(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE_H + 2 * RADIUS][TILE_W + 2 * RADIUS];
    const int x0 = blockIdx.x * TILE_W - RADIUS, y0 = blockIdx.y * TILE_H - RADIUS;
    for (int ty = threadIdx.y; ty < TILE_H + 2 * RADIUS; ty += TILE_H) {
        for (int tx = threadIdx.x; tx < TILE_W + 2 * RADIUS; tx += TILE_W) {
            int x = min(max(x0 + tx, 0), width - 1), y = min(max(y0 + ty, 0), height - 1);
            tile[ty][tx] = in[y * width + x];
        }
    }
    __syncthreads();

    int x = blockIdx.x * TILE_W + threadIdx.x, y = blockIdx.y * TILE_H + threadIdx.y;
    if (x >= width || y >= height) {
        return;
    }
    float acc = 0.f;
    for (int dy = 0; dy <= 2 * RADIUS; ++dy) {
        for (int dx = 0; dx <= 2 * RADIUS; ++dx) {
            acc += tile[threadIdx.y + dy][threadIdx.x + dx];
        }
    }
    out[y * width + x] = acc / ((2 * RADIUS + 1) * (2 * RADIUS + 1));
}
