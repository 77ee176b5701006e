// Sparse matrix times vector in CSR form: a thread per row, a warp per row.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>
#include <cuda_runtime.h>

using Real = double;
using Index = int;

#ifndef WARP_SIZE
#define WARP_SIZE 32
#endif

static_assert(std::numeric_limits<Real>::is_iec559, "");

template <typename T, typename I>
__global__ void spmv_csr_scalar(I rows, const I *__restrict__ ptr, const I *__restrict__ ind,
                                const T *__restrict__ val, const T *__restrict__ x, T *__restrict__ y)
{
  const I row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  T sum{};
  for (I k = ptr[row], end = ptr[row + 1]; k < end; ++k) sum += val[k] * __ldg(&x[ind[k]]);
  y[row] = sum;
}

template <typename T, typename I>
__global__ void spmv_csr_vector(I rows, const I *__restrict__ ptr, const I *__restrict__ ind,
                                const T *__restrict__ val, const T *__restrict__ x, T *__restrict__ y)
{
  const I warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP_SIZE;
  const int lane = threadIdx.x % WARP_SIZE;
  if (warp >= rows) return;  // warps leave as a whole
  T sum = 0;
  for (I k = ptr[warp] + lane; k < ptr[warp + 1]; k += WARP_SIZE) sum += val[k] * x[ind[k]];
  for (int d = WARP_SIZE >> 1; d; d >>= 1) sum += __shfl_down_sync(0xFFFFFFFFU, sum, d, WARP_SIZE);
  if (!lane) y[warp] = sum;
}

// ---------------------------------------------------------------- host

#define CU(call)                                                                   \
  if (cudaError_t rc_ = call) {                                                    \
    fprintf(stderr, "%s -> %s (%s:%d)\n", #call, cudaGetErrorString(rc_), __FILE__, __LINE__); \
    std::exit(rc_);                                                                \
  }

struct CsrMatrix {
  Index rows = 0, columns = 0;
  std::vector<Index> ptr, ind;
  std::vector<Real> val;

  static CsrMatrix random(Index rows, Index columns, double density, unsigned seed = 1)
  {
    CsrMatrix m;
    m.rows = rows, m.columns = columns;
    std::mt19937 gen(seed);
    std::uniform_real_distribution<> uniform(-1, 1);
    std::geometric_distribution<Index> gap(density);
    m.ptr.push_back(0);
    for (Index r = 0; r < rows; ++r) {
      if (r % 10)  // every tenth row is empty
        for (Index c = gap(gen); c < columns; c += 1 + gap(gen)) m.ind.push_back(c), m.val.push_back(uniform(gen));
      m.ptr.push_back(Index(m.ind.size()));
    }
    return m;
  }

  std::vector<Real> operator*(const std::vector<Real> &x) const
  {
    std::vector<Real> y(rows);
    for (Index r = 0; r < rows; ++r)
      for (Index k = ptr[r]; k < ptr[r + 1]; ++k) y[r] += val[k] * x[ind[k]];
    return y;
  }
};

template <typename T> struct Device {
  T *p;
  Device(const std::vector<T> &v)
  {
    CU(cudaMalloc(&p, v.size() * sizeof(T)));
    CU(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Device() { cudaFree(p); }
  operator T *() const { return p; }
};

static Real distance(const std::vector<Real> &a, const std::vector<Real> &b)
{
  return std::inner_product(a.begin(), a.end(), b.begin(), Real(0),
                            [](Real m, Real d) { return std::max(m, d); },
                            [](Real p, Real q) { return std::fabs(p - q); });
}

int main()
{
  const CsrMatrix a = CsrMatrix::random(4001, 3000, 0.01);
  std::vector<Real> x(a.columns), y(a.rows, -1);
  std::iota(x.begin(), x.end(), -1500);
  for (Real &v : x) v /= 1500;
  const std::vector<Real> expected = a * x;
  std::printf("%d x %d, %zu elements\n", a.rows, a.columns, a.val.size());

  Real worst[2];
  {
    Device<Index> ptr(a.ptr), ind(a.ind);
    Device<Real> val(a.val), dx(x), dy(y);
    spmv_csr_scalar<Real, Index><<<(a.rows + 127) / 128, 128>>>(a.rows, ptr, ind, val, dx, dy);
    CU(cudaMemcpy(y.data(), dy, y.size() * sizeof(Real), cudaMemcpyDeviceToHost));
    worst[0] = distance(y, expected);
    CU(cudaMemset(dy, 0, y.size() * sizeof(Real)));
    spmv_csr_vector<Real, Index><<<(a.rows + 3) / 4, 4 * WARP_SIZE>>>(a.rows, ptr, ind, val, dx, dy);
    CU(cudaMemcpy(y.data(), dy, y.size() * sizeof(Real), cudaMemcpyDeviceToHost));
    worst[1] = distance(y, expected);
  }
  std::printf("largest errors %.3g, %.3g\n", worst[0], worst[1]);
  bool good = worst[0] < 1e-10 && worst[1] < 1e-10;
  std::puts(good ? "OK" : "FAILED");
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
