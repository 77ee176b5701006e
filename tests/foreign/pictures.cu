// Pictures: a separable filter from constant memory, the Mandelbrot set, the game of life.
#define KERNEL_RADIUS 8
#define KERNEL_LENGTH (2 * KERNEL_RADIUS + 1)
#define ROWS_BLOCKDIM_X 16
#define ROWS_BLOCKDIM_Y 4
#define ROWS_RESULT_STEPS 4
#define ROWS_HALO_STEPS 1

__constant__ float c_Kernel[KERNEL_LENGTH] = {0.01f, 0.02f, 0.03f, 0.05f, 0.06f, 0.08f,
                                              0.09f, 0.10f, 0.12f, 0.10f, 0.09f, 0.08f,
                                              0.06f, 0.05f, 0.03f, 0.02f, 0.01f};

__global__ void convolutionRowsKernel(float *d_Dst, const float *d_Src, int imageW, int pitch)
{
    __shared__ float s_Data[ROWS_BLOCKDIM_Y]
                           [(ROWS_RESULT_STEPS + 2 * ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X];
    const int baseX =
        (blockIdx.x * ROWS_RESULT_STEPS - ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X + threadIdx.x;
    const int baseY = blockIdx.y * ROWS_BLOCKDIM_Y + threadIdx.y;
    d_Src += baseY * pitch;
    d_Dst += baseY * pitch;

#pragma unroll
    for (int i = 0; i < ROWS_RESULT_STEPS + 2 * ROWS_HALO_STEPS; i++) {
        int x = baseX + i * ROWS_BLOCKDIM_X;
        s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] =
            (x >= 0 && x < imageW) ? d_Src[x] : 0;
    }
    __syncthreads();

#pragma unroll
    for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++) {
            sum += c_Kernel[KERNEL_RADIUS - j] *
                   s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X + j];
        }
        d_Dst[baseX + i * ROWS_BLOCKDIM_X] = sum;
    }
}

__global__ void mandelbrot(int *iters, int w, int h, double x0, double y0, double dx, int max_iter)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) {
        return;
    }
    double cx = x0 + px * dx, cy = y0 + py * dx, x = 0, y = 0;
    int n = 0;
    while (x * x + y * y <= 4.0 && n < max_iter) {
        double t = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = t;
        ++n;
    }
    iters[py * w + px] = n;
}

__global__ void life(const unsigned char *now, unsigned char *next, unsigned w, unsigned h)
{
    unsigned cells = w * h;
    for (unsigned cell = blockIdx.x * blockDim.x + threadIdx.x; cell < cells;
         cell += blockDim.x * gridDim.x) {
        unsigned x = cell % w, yAbs = cell - x;
        unsigned xLeft = (x + w - 1) % w, xRight = (x + 1) % w;
        unsigned yUp = (yAbs + cells - w) % cells, yDown = (yAbs + w) % cells;
        unsigned alive = now[xLeft + yUp] + now[x + yUp] + now[xRight + yUp] + now[xLeft + yAbs] +
                         now[xRight + yAbs] + now[xLeft + yDown] + now[x + yDown] +
                         now[xRight + yDown];
        next[x + yAbs] = alive == 3 || (alive == 2 && now[x + yAbs]) ? 1 : 0;
    }
}
