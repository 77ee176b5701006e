// What programs have in and around their kernels, in as many forms as one file takes.
#include <chrono>
#include <vector>
#include <utility>
#include <iostream>
#include <memory>
#include <functional>
struct Timer { std::chrono::time_point<std::chrono::high_resolution_clock> t0 = std::chrono::high_resolution_clock::now(); };
template <typename T> class Matrix {
    std::vector<T> d; int n_;
public:
    Matrix(int n) : d(n * n), n_{n} {}
    explicit Matrix(std::initializer_list<T> l) : d{l}, n_(1) { for (auto v : l) { d.push_back(v); } }
    T &operator()(int i, int j) { return d[i * n_ + j]; }
    __host__ __device__ static int index(int i, int j, int n) { return i * n + j; }
    template <typename U> operator U() const { return U(d[0]); }
    static Matrix identity(int n);
};
template <typename T> Matrix<T> Matrix<T>::identity(int n) { Matrix m(n); return m; }
extern "C" void launch(int *x);
extern "C" { void host_fn(int); int other_main(); }
std::ostream &operator<<(std::ostream &o, const float3 &v) { return o << v.x << v.y; }
template <typename T> void verify(const T *a, int n, T tol = T(1e-5)) { if (a[0] < tol) exit(1); }
template <> void verify<int>(const int *a, int n, int tol) { }
template <typename K, typename... A> auto run(K k, A &&...a) -> decltype(k(a...)) { k<<<1, 1>>>(std::forward<A>(a)...); }
class Base { public: virtual void go() = 0; virtual ~Base() = default; protected: int v_ = 0; };
class Derived final : public Base, private std::vector<int> { public: void go() override { launch(nullptr); } Derived(); };
Derived::Derived() : Base(), std::vector<int>(3) { v_ = 2; }
std::unique_ptr<Base> make() { return std::make_unique<Derived>(); }
static std::function<void(int)> callback = [](int v) { std::cout << v << std::endl; };
const char *names[] = {"a", "b{", "c}"}, sep = ';';
int table[2][2] = {{1, 2}, {3, 4}}, *ptr = &table[0][0];
struct { int a, b; } globals = {1, 2};
enum { WIDTH = 4, HEIGHT = WIDTH * 2 };
enum class Op : unsigned char { Add, Mul };
typedef enum { RED, GREEN } colour_t;
typedef struct node { int v; struct node *next; } node_t;
volatile __device__ int flag = 0;
__device__ volatile int flag2;
static __device__ float arr[HEIGHT][WIDTH];
__device__ float3 pos = {0, 0, 0};
__device__ struct S { int a; float b; } s_dev;
__constant__ const float pi = 3.14f;
const __constant__ int cn = 3;
__device__ node_t nodes[3];
__managed__ int man = 3;
template <int N> struct Fact { enum { value = N * Fact<N - 1>::value }; };
template <> struct Fact<0> { enum { value = 1 }; };
template <typename T> struct Zero { static __device__ T get() { return T(0); } };
template <typename T> __device__ T zero_v = T(0);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
#error "too old"
#endif
#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
__device__ int2 two() { return {1, 2}; }
__device__ int fact(int n) { return n <= 1 ? 1 : n * fact(n - 1); }
template <Op op> __device__ int apply(int a, int b) { if constexpr (op == Op::Add) return a + b; else return a * b; }
__global__ void k(float (*a)[4], float b[][4], float c[], const colour_t colour, unsigned long long int big)
{
    int i, j; register int r; unsigned long long int n; float acc[4] = {}; float4 v[2];
    struct { int x; float y; } local[3];
    using T = float; typedef int I;
    const int tid{(int)threadIdx.x};
    static __shared__ int st; __shared__ int sa, *sb; __shared__ float s2[WIDTH][HEIGHT + 1], s3[Fact<3>::value];
    extern __shared__ int dyn[]; int *p = dyn, *q = &dyn[2];
    auto [x, y] = two();
    auto f = [&](T t) -> T { I w; w = 2; return t * w + acc[0]; };
    for (i = 0, j = 1; i < 3; i++, j--) { local[i].x = i; local[i].y = j; acc[i] += local[i].y; }
    for (auto e : {1, 2, 3}) acc[3] += e;
    n = big; r = fact(4); v[0] = make_float4(1, 2, 3, 4); v[1] = v[0];
    CUDA_KERNEL_LOOP(l, 1) { st = 1; sa = 2; sb = &sa; s2[0][0] = 3; s3[0] = 1; p[0] = 5; q[0] = 6; flag = 1; flag2 = 2; }
    switch (colour) { case RED: { int z; z = 1; r += z; } break; case GREEN: r = 0; default: break; }
    do { r--; } while (r > 10);
    if (int m = r; m > 0) a[0][0] = m; else a[0][1] = m;
    b[0][1] = f(2) + x + y + tid + *sb + s2[0][0] + s3[0] + st;
    c[0] = n + v[1].w + pi + cn + man + arr[0][0] + pos.x + s_dev.a + Zero<float>::get() + Matrix<float>::index(1, 1, 2) + apply<Op::Mul>(2, 3) + p[0] + q[0];
    nodes[0].next = &nodes[1];
    asm volatile("" ::: "memory");
}
extern "C" void launch(int *x) { float *a = 0; k<<<dim3(1), 1, 16>>>((float (*)[4])a, (float (*)[4])a, a, RED, 0ull); }
int main(int argc, char *argv[]) try { launch(nullptr); return argc > 1 && argv[1][0] == '<' ? 1 : 0; } catch (...) { return 1; }
