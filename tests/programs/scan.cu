// Exclusive and inclusive prefix sums of one block, after Hillis and Steele and after Blelloch,
// and of many blocks in three launches.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define gpuErrchk(ans) do { gpuAssert((ans), __FILE__, __LINE__); } while (0)
static inline void gpuAssert(cudaError_t code, const char* file, int line) {
    if (code != cudaSuccess) {
        std::fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(code));
        std::exit(code);
    }
}

// Conflict-free addresses in shared memory: one word of padding after every 32.
#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)

// Inclusive; two buffers, so that no thread reads what another writes in the same step.
__global__ void scan_hillis_steele(float* g_odata, const float* g_idata, int n)
{
    extern __shared__ float temp[]; // 2 * n
    int thid = threadIdx.x;
    int pout = 0, pin = 1;
    temp[thid] = g_idata[thid];
    __syncthreads();
    for (int offset = 1; offset < n; offset <<= 1) {
        pout = 1 - pout;
        pin = 1 - pin;
        if (thid >= offset)
            temp[pout * n + thid] = temp[pin * n + thid] + temp[pin * n + thid - offset];
        else
            temp[pout * n + thid] = temp[pin * n + thid];
        __syncthreads();
    }
    g_odata[thid] = temp[pout * n + thid];
}

// Exclusive; a block scans 2 * blockDim.x elements and stores their sum, if it is wanted.
__global__ void scan_blelloch(float* out, const float* in, float* sums, int n)
{
    extern __shared__ float temp[];
    const int size = 2 * blockDim.x, first = blockIdx.x * size;
    int thid = threadIdx.x, offset = 1;
    int ai = thid, bi = thid + size / 2;
    temp[ai + CONFLICT_FREE_OFFSET(ai)] = first + ai < n ? in[first + ai] : 0.0f;
    temp[bi + CONFLICT_FREE_OFFSET(bi)] = first + bi < n ? in[first + bi] : 0.0f;

    for (int d = size >> 1; d > 0; d >>= 1) { // up-sweep
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
            a += CONFLICT_FREE_OFFSET(a);
            b += CONFLICT_FREE_OFFSET(b);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (thid == 0) {
        int last = size - 1 + CONFLICT_FREE_OFFSET(size - 1);
        if (sums) sums[blockIdx.x] = temp[last];
        temp[last] = 0.0f;
    }
    for (int d = 1; d < size; d *= 2) { // down-sweep
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
            a += CONFLICT_FREE_OFFSET(a);
            b += CONFLICT_FREE_OFFSET(b);
            float t = temp[a];
            temp[a] = temp[b];
            temp[b] += t;
        }
    }
    __syncthreads();
    if (first + ai < n) out[first + ai] = temp[ai + CONFLICT_FREE_OFFSET(ai)];
    if (first + bi < n) out[first + bi] = temp[bi + CONFLICT_FREE_OFFSET(bi)];
}

__global__ void add_block_sums(float* data, const float* sums, int n)
{
    int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
    float sum = sums[blockIdx.x];
    if (i < n) data[i] += sum;
    if (i + blockDim.x < n) data[i + blockDim.x] += sum;
}

struct Scanner {
    static const int threads = 128;
    int n, blocks;
    float *in, *out, *sums;
    cudaEvent_t begin, end;

    Scanner(int n) : n(n), blocks((n + 2 * threads - 1) / (2 * threads))
    {
        gpuErrchk(cudaMalloc(&in, n * sizeof *in));
        gpuErrchk(cudaMalloc(&out, n * sizeof *out));
        gpuErrchk(cudaMalloc(&sums, blocks * sizeof *sums));
        gpuErrchk(cudaEventCreate(&begin));
        gpuErrchk(cudaEventCreate(&end));
    }
    ~Scanner()
    {
        cudaEventDestroy(end);
        cudaEventDestroy(begin);
        cudaFree(sums);
        cudaFree(out);
        cudaFree(in);
    }
    static size_t bytes(int size) { return (size + CONFLICT_FREE_OFFSET(size)) * sizeof(float); }
    float exclusive(const std::vector<float>& from, std::vector<float>& to);
};

float Scanner::exclusive(const std::vector<float>& from, std::vector<float>& to)
{
    float ms = 0;
    int top = 1;
    while (2 * top < blocks) top *= 2;
    gpuErrchk(cudaMemcpy(in, from.data(), n * sizeof *in, cudaMemcpyHostToDevice));
    gpuErrchk(cudaEventRecord(begin));
    scan_blelloch<<<blocks, threads, bytes(2 * threads)>>>(out, in, sums, n);
    scan_blelloch<<<1, top, bytes(2 * top)>>>(sums, sums, nullptr, blocks);
    add_block_sums<<<blocks, threads>>>(out, sums, n);
    gpuErrchk(cudaEventRecord(end));
    gpuErrchk(cudaEventSynchronize(end));
    gpuErrchk(cudaEventElapsedTime(&ms, begin, end));
    gpuErrchk(cudaMemcpy(to.data(), out, n * sizeof *out, cudaMemcpyDeviceToHost));
    return ms;
}

int main()
{
    const int n = 123456, small = 512;
    std::vector<float> x(n), y(n), z(small);
    for (int i = 0; i < n; i++) x[i] = float(i % 7 - 2); // sums stay exact
    Scanner scanner(n);
    float ms = scanner.exclusive(x, y);
    std::printf("%d elements in %.3f ms\n", n, ms);

    scan_hillis_steele<<<1, small, 2 * small * sizeof(float)>>>(scanner.out, scanner.in, small);
    gpuErrchk(cudaMemcpy(z.data(), scanner.out, small * sizeof(float), cudaMemcpyDeviceToHost));

    float sum = 0;
    for (int i = 0; i < n; i++) {
        if (y[i] != sum || (i < small && z[i] != sum + x[i])) {
            std::printf("wrong at %d\n", i);
            return 1;
        }
        sum += x[i];
    }
    std::puts("OK");
}
