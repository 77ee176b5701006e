/* The kernels that prepare fp16x3, with one parameter for each number: for tests/test_halves.py. */
#undef __CUDACC__ /* their headers take the simulator's side */
#undef __CUDA_ARCH__
#include "device.h"

#undef GM_KERNEL
#define GM_KERNEL(name, args_type) static __device__ void name(const args_type &a)
#define THREADS THREADS_ALONG
#include "sgemm/halves_along.cu"
#undef THREADS
#define THREADS THREADS_LARGEST
#define HIGH HIGH_LARGEST
#include "sgemm/halves_largest.cu"
#undef THREADS
#undef HIGH
#include "sgemm/halves_across.cu"
#define THREADS THREADS_JUDGE
#include "sgemm/halves_judge.cu"

static __device__ sgemm_halves_args describe(const float *x, long long lines, long long depth,
                                             long long pitch, bool along, long long slab,
                                             unsigned short *to, unsigned *largest,
                                             unsigned *counted, int *scales)
{
    sgemm_halves_args a = {};
    a.from.data = x;
    a.from.lines = lines;
    a.from.line_stride = along ? pitch : 1;
    a.from.depth_stride = along ? 1 : pitch;
    a.from.along_depth = along;
    a.from.vectors = pitch % 4 == 0;
    a.depth = depth;
    a.to = to;
    a.pitch = (depth + 31) / 32 * 64;
    a.slab = slab;
    a.slabs = (int)((depth + slab - 1) / slab);
    a.largest = largest;
    a.counted = (halves_count *)counted;
    a.scales = scales;
    return a;
}

__global__ void along(const float *x, long long lines, long long depth, long long pitch,
                      unsigned short *to, unsigned *counted, int *scales)
{
    sgemm_halves_along(describe(x, lines, depth, pitch, true, depth, to, nullptr, counted, scales));
}

__global__ void largest(const float *x, long long lines, long long depth, long long pitch,
                        long long slab, unsigned *most)
{
    sgemm_halves_largest(
        describe(x, lines, depth, pitch, false, slab, nullptr, most, nullptr, nullptr));
}

__global__ void across(const float *x, long long lines, long long depth, long long pitch,
                       long long slab, unsigned short *to, unsigned *most, unsigned *counted,
                       int *scales)
{
    sgemm_halves_across(describe(x, lines, depth, pitch, false, slab, to, most, counted, scales));
}

__global__ void judge(const unsigned *counted_a, long long blocks_a, int slabs_a,
                      const unsigned *counted_b, long long blocks_b, int slabs_b, long long depth,
                      unsigned *verdict)
{
    sgemm_judge_args a = {};
    a.a = {(const halves_count *)counted_a, blocks_a, slabs_a};
    a.b = {(const halves_count *)counted_b, blocks_b, slabs_b};
    a.depth = depth;
    a.verdict = verdict;
    sgemm_halves_judge(a);
}
