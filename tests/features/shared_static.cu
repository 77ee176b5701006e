// Static shared arrays: one, two and three dimensions, a structure, and a single variable.
__global__ void rotate(const int *in, int *out)
{
    __shared__ int line[128];
    unsigned i = blockIdx.x * 128 + threadIdx.x;
    line[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = line[(threadIdx.x + 37) % 128];
}

__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < cols && y < rows) {
        tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    }
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < rows && y < cols) {
        out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
    }
}

__global__ void permute_axes(const short *in, short *out)
{
    __shared__ short cube[4][8][2];
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    int i = (z * 8 + y) * 2 + x;
    cube[z][y][x] = in[blockIdx.x * 64 + i];
    __syncthreads();
    out[blockIdx.x * 64 + (x * 8 + y) * 4 + z] = cube[z][y][x];
}

struct Particle {
    float x, y;
    int charge;
    double mass;
};

__global__ void centre(const float *x, const double *mass, double *out)
{
    __shared__ Particle all[64];
    __shared__ double total;
    int t = threadIdx.x;
    all[t].x = x[t];
    all[t].mass = mass[t];
    if (t == 0) {
        total = 0;
    }
    __syncthreads();
    if (t == 0) {
        double weight = 0;
        for (int i = 0; i < 64; i++) {
            total += all[i].x * all[i].mass;
            weight += all[i].mass;
        }
        total /= weight;
    }
    __syncthreads();
    out[t] = all[t].x - total;
}
