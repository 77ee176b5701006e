// stream_k with several plans, and warp_tile_tma, beside cuBLAS on products chosen afresh. An
// experiment: it goes when the constants of plan_stream_k.c are fitted.
//
//     nvcc -arch=sm_90a -O3 -std=c++17 -Xptxas=-O1 -I csrc -I csrc/kernels -c tools/stream_k_lab.cu
//     and, for `old`, warp_tile_tma.cu of the commit before with -Dsgemm_warp_tile_tma=old_tma -c
//     ./lab LIBCUBLAS.so SEED COUNT FILE.csv
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <vector>
#include <string>
#include <functional>
#include "sgemm/warp_tile_tma.cu"
#include "sgemm/stream_k.cu"
#include "sgemm/add_shares.cu"
#include "sgemm/zeros.cu"
#include "sgemm/shares.h"
extern "C" __global__ void old_tma(const __grid_constant__ sgemm_engine_args a);
#define OK(x) do { auto r_ = (x); if (r_) { printf("%s:%d %s -> %d\n", __FILE__, __LINE__, #x, (int)r_); exit(1); } } while (0)
static int SMS;
__global__ void spin(long long cycles) { long long t = clock64(); while (clock64() - t < cycles) {} }
__global__ void fill(float *p, long long n, unsigned seed) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    unsigned x = (unsigned)i * 2654435761u ^ seed; x ^= x >> 15; x *= 2246822519u; x ^= x >> 13;
    p[i] = (float)((int)(x % 17) - 8);
  }
}
__global__ void differ(const float *x, const float *y, int m, int n, long long ld, unsigned *count) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (long long)m * n; i += (long long)gridDim.x * blockDim.x) {
    long long r = i / n, c = i % n; if (!(x[r * ld + c] == y[r * ld + c])) atomicAdd(count, 1u);
  }
}
static void map2(void *data, int64_t w, int64_t h, int64_t pitch, unsigned bw, unsigned bh, gm_tensor_map *out) {
  static decltype(&cuTensorMapEncodeTiled) enc;
  if (!enc) { cudaDriverEntryPointQueryResult f; void *p; OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &p, 12000, cudaEnableDefault, &f)); enc = (decltype(enc))p; }
  CUtensorMap m; cuuint64_t dims[2] = {(cuuint64_t)w, (cuuint64_t)h}, st[1] = {(cuuint64_t)pitch}; cuuint32_t box[2] = {bw, bh}, el[2] = {1, 1};
  OK(enc(&m, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, data, dims, st, box, el, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  memcpy(out->opaque, &m, sizeof m);
}
static void launch(const void *k, unsigned gx, unsigned gy, unsigned threads, size_t smem, const void *args, bool pdl = true) {
  cudaLaunchConfig_t c = {}; c.gridDim = dim3(gx, gy, 1); c.blockDim = dim3(threads, 1, 1); c.dynamicSmemBytes = smem;
  cudaLaunchAttribute at[1]; at[0].id = cudaLaunchAttributeProgrammaticStreamSerialization; at[0].val.programmaticStreamSerializationAllowed = 1;
  c.attrs = at; c.numAttrs = pdl ? 1 : 0;
  void *a[1] = {(void *)args};
  OK(cudaLaunchKernelExC(&c, k, a));
}
static int FIXED_COST = 4; static bool ALL_ALIKE = false;
static int cost_of(int64_t r, int64_t c) { if (ALL_ALIKE) return 16; int64_t in = divide_up(r, 32) * 32 * divide_up(c, 32) * 32; return FIXED_COST + (int)divide_up((16 - FIXED_COST) * in, 128 * 128); }
static sgemm_stream_k_costs find_costs(const sgemm_args *p) {
  int64_t r = p->a.lines - (p->tiles_y - 1) * 128, c = p->b.lines - (p->tiles_x - 1) * 128;
  sgemm_stream_k_costs k; k.inner = 16; k.right = cost_of(128, c); k.bottom = cost_of(r, 128); k.corner = cost_of(r, c); return k;
}
static int64_t cost_before(const sgemm_args *p, const sgemm_stream_k_costs *costs, int64_t tile) {
  const int64_t above = tile / (p->group * p->tiles_x) * p->group, within = tile - above * p->tiles_x;
  const int64_t rows = least_of(p->group, p->tiles_y - above), column = within / rows;
  const int64_t right = above + (column == p->tiles_x - 1 ? within % rows : 0), bottom = above + rows == p->tiles_y ? column : 0;
  return tile * costs->inner + right * (costs->right - costs->inner) + bottom * (costs->bottom - costs->inner);
}
// places: blocks that run at once; few: blocks allowed for few tiles by sharers
static int64_t divide_sk(const sgemm_args *p, int64_t places, int64_t sharers, sgemm_stream_k_args *a) {
  const int64_t tiles = p->tiles_x * p->tiles_y, stages = a->engine.stages;
  a->costs = find_costs(p);
  const int64_t all = cost_before(p, &a->costs, tiles - 1) + a->costs.corner;
  int64_t blocks = places, whole = tiles;
  if (tiles > places && tiles % places != 0) whole = (tiles / places - 1) * places;
  else if (tiles < places) { int64_t most = least_of(tiles * sharers, all * stages / (STREAM_K_STAGES * 16)); blocks = most >= places ? places : most > tiles ? most : tiles; whole = blocks == tiles ? tiles : 0; }
  a->whole = (unsigned)whole;
  if (whole < tiles) { a->before = cost_before(p, &a->costs, whole) * stages; a->each = (all * stages - a->before) / blocks; a->more = (all * stages - a->before) % blocks; }
  return blocks;
}
typedef int (*sgemm_f)(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
int main(int argc, char **argv) {
  void *lib = dlopen(argv[1], RTLD_NOW); if (!lib) { printf("%s\n", dlerror()); return 1; }
  auto create = (int (*)(void **))dlsym(lib, "cublasCreate_v2"); auto gemm = (sgemm_f)dlsym(lib, "cublasSgemm_v2");
  auto setws = (int (*)(void *, void *, size_t))dlsym(lib, "cublasSetWorkspace_v2");
  void *h; OK(create(&h)); void *ws; OK(cudaMalloc(&ws, 64 << 20)); if (setws) setws(h, ws, 32 << 20);
  srand(argc > 2 ? atoi(argv[2]) : 1); int count = argc > 3 ? atoi(argv[3]) : 60; FILE *csv = argc > 4 ? fopen(argv[4], "w") : NULL;
  cudaDeviceProp prop; OK(cudaGetDeviceProperties(&prop, 0)); SMS = prop.multiProcessorCount; printf("%s %d SMs\n", prop.name, SMS);
  for (auto k : {(const void *)sgemm_warp_tile_tma, (const void *)sgemm_stream_k, (const void *)old_tma}) OK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, WARP_TILE_TMA_BYTES));
  int occ; OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ, sgemm_stream_k, 128, WARP_TILE_TMA_BYTES)); printf("stream_k: %d blocks per SM\n", occ);
  size_t most = (size_t)1 << 30; float *A, *B, *C, *D, *W; char *flush; unsigned *cnt;
  OK(cudaMalloc(&A, most)); OK(cudaMalloc(&B, most)); OK(cudaMalloc(&C, most)); OK(cudaMalloc(&D, most)); OK(cudaMalloc(&W, (size_t)3 << 30)); OK(cudaMalloc(&flush, 256 << 20)); OK(cudaMalloc(&cnt, 4));
  fill<<<1024, 256>>>(A, most / 4, 1); fill<<<1024, 256>>>(B, most / 4, 77);
  unsigned long long *there; OK(cudaMalloc(&there, 8 * 1024 * 64));
  cudaEvent_t e0, e1; cudaEventCreate(&e0); cudaEventCreate(&e1);
  const char *names[] = {"cublas", "old1", "olds", "tma1", "tmas", "sk", "sk_nozero", "sk_132", "sk_f2", "sk_f6", "sk_alike", "sk_s4", "sk_s16"};
  const int N = sizeof names / sizeof *names;
  if (csv) { fprintf(csv, "m,n,k"); for (auto s : names) fprintf(csv, ",%s", s); fprintf(csv, "\n"); }
  double sums[N] = {}; int wins[N] = {};
  for (int s = 0; s < count; s++) {
    auto draw = [&](double lo, double hi) { double v = exp2(log2(lo) + (log2(hi) - log2(lo)) * (rand() / (double)RAND_MAX)); int unit[] = {1, 4, 16, 32}; int u = unit[rand() % 4]; return (int)std::max(1.0, round(v / u) * u); };
    int m, n, k;
    if (s % 2 == 0) m = n = k = draw(256, 4300);
    else { m = draw(200, 6000), n = draw(200, 6000), k = draw(128, 4096); while ((double)m * n * k > 8e10) m = std::max(100, m / 2); }
    int64_t pa = divide_up(k, 4) * 4, pb = divide_up(n, 4) * 4;
    sgemm_engine_args e = {}; sgemm_args &p = e.product;
    p.a.data = A; p.a.lines = m; p.a.line_stride = pa; p.a.depth_stride = 1; p.a.along_depth = true; p.a.vectors = true;
    p.b.data = B; p.b.lines = n; p.b.line_stride = 1; p.b.depth_stride = pb; p.b.along_depth = false; p.b.vectors = true;
    p.depth = k; p.alpha = 1; p.out = C; p.out_stride = pb; p.out_vectors = true; p.tiles_x = divide_up(n, 128); p.tiles_y = divide_up(m, 128); p.group = (unsigned)least_of(p.tiles_y, 16);
    map2(A, k, m, pa * 4, 8, 128, &e.a); map2(B, n, k, pb * 4, 128, 32, &e.b);
    const int64_t tiles = p.tiles_x * p.tiles_y, stages = divide_up(k, 32);
    sgemm_pace pace = {2, 1.25, 2, 2, 8e6};
    int64_t each = sgemm_best_shares(&pace, SMS, tiles, stages, 4.0 * m * n).stages, shares = divide_up(stages, each);
    auto whole = [&](const void *kern) { sgemm_engine_args x = e; x.stages = stages; launch(kern, tiles, 1, 128, WARP_TILE_TMA_BYTES, &x); };
    auto shared = [&](const void *kern) {
      if (shares == 1) return whole(kern);
      sgemm_engine_args x = e; x.stages = each; x.partial = (int64_t)m * pb; x.product.out = W; x.product.out_stride = pb;
      launch(kern, tiles, shares, 128, WARP_TILE_TMA_BYTES, &x);
      int ls = add_shares_log_sharers(shares);
      sgemm_add_shares_args as = {}; as.product = p; as.sums = W; as.partial = x.partial; as.vectors = gm_divisor_of(pb / 4); as.shares = (int)shares; as.log_sharers = ls;
      launch((const void *)sgemm_add_shares, (unsigned)divide_up(x.partial / 4, 256 >> ls), 1, 256, 0, &as);
    };
    auto sk = [&](int64_t places, int64_t sharers, int fixed, bool alike, bool zero) {
      FIXED_COST = fixed; ALL_ALIKE = alike;
      sgemm_stream_k_args x = {}; x.engine = e; x.engine.stages = stages;
      int64_t blocks = divide_sk(&p, places, sharers, &x);
      x.sums = W; x.there = there;
      if (zero && x.each > 0) { zeros_args z = {(unsigned *)there, blocks * 2}; launch((const void *)sgemm_zeros, (unsigned)divide_up(blocks * 2, 2048), 1, 256, 0, &z); }
      launch((const void *)sgemm_stream_k, (unsigned)blocks, 1, 128, WARP_TILE_TMA_BYTES, &x);
    };
    const float one = 1, zero = 0;
    std::vector<std::function<void()>> f = {
      [&] { OK(gemm(h, 0, 0, n, m, k, &one, B, pb, A, pa, &zero, C, pb)); },
      [&] { whole((const void *)old_tma); }, [&] { shared((const void *)old_tma); },
      [&] { whole((const void *)sgemm_warp_tile_tma); }, [&] { shared((const void *)sgemm_warp_tile_tma); },
      [&] { sk(2 * SMS, 8, 4, false, true); }, [&] { sk(2 * SMS, 8, 4, false, false); }, [&] { sk(SMS, 8, 4, false, true); },
      [&] { sk(2 * SMS, 8, 2, false, true); }, [&] { sk(2 * SMS, 8, 6, false, true); }, [&] { sk(2 * SMS, 8, 4, true, true); },
      [&] { sk(2 * SMS, 4, 4, false, true); }, [&] { sk(2 * SMS, 16, 4, false, true); }};
    OK(cudaMemset(there, 0, 8 * 1024 * 64));
    f[0](); OK(cudaMemcpy(D, C, (size_t)m * pb * 4, cudaMemcpyDeviceToDevice));
    for (int i = 1; i < N; i++) {
      OK(cudaMemset(C, 0xff, (size_t)m * pb * 4)); OK(cudaMemset(cnt, 0, 4)); OK(cudaMemset(there, 0, 8 * 1024 * 64)); f[i](); OK(cudaDeviceSynchronize());
      differ<<<1024, 256>>>(C, D, m, n, pb, cnt); unsigned c; OK(cudaMemcpy(&c, cnt, 4, cudaMemcpyDeviceToHost));
      if (c) printf("WRONG %s %dx%dx%d: %u\n", names[i], m, n, k, c);
    }
    std::vector<std::vector<float>> t(N);
    const int rounds = (double)m * n * k > 2e10 ? 5 : 7;
    for (int r = 0; r < rounds; r++) {
      int order[N]; for (int i = 0; i < N; i++) order[i] = i; std::random_shuffle(order, order + N);
      for (int i : order) {
        OK(cudaMemset(there, 0, 8 * 1024 * 64)); OK(cudaMemsetAsync(flush, 0, 256 << 20)); spin<<<1, 1>>>(60000);
        cudaEventRecord(e0); f[i](); cudaEventRecord(e1); OK(cudaEventSynchronize(e1)); float ms; cudaEventElapsedTime(&ms, e0, e1); t[i].push_back(ms * 1e3f);
      }
    }
    printf("%5d %5d %5d tiles %4lld st %3lld sh %2lld |", m, n, k, (long long)tiles, (long long)stages, (long long)shares);
    double med[N];
    for (int i = 0; i < N; i++) { std::sort(t[i].begin(), t[i].end()); med[i] = t[i][t[i].size() / 2]; printf(i ? " %s %.3f" : " %s %.1f", names[i], i ? med[0] / med[i] : med[0]); sums[i] += log(med[0] / med[i]); wins[i] += med[i] <= med[0]; }
    printf("\n"); fflush(stdout);
    if (csv) { fprintf(csv, "%d,%d,%d", m, n, k); for (int i = 0; i < N; i++) fprintf(csv, ",%.2f", med[i]); fprintf(csv, "\n"); fflush(csv); }
  }
  for (int i = 1; i < N; i++) printf("%-10s mean %.3f x cuBLAS, %d of %d at least 1\n", names[i], exp(sums[i] / count), wins[i], count);
  return 0;
}
