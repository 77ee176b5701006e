/* Structures, vectors and results by pointer: correct, or with a slip. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>

namespace cg = cooperative_groups;

struct Vec3 {
    float x, y, z;
    __device__ Vec3 operator+(const Vec3 &o) const
    {
        return {x + o.x, y + o.y, z + o.z};
    }
    __device__ float &operator[](int i)
    {
        return (&x)[i];
    }
};

struct Ray {
    Vec3 o, d;
    float t;
    int hit;
};

template <int N> struct Stack {
    int data[N];
    int top = 0;
    __device__ void push(int v)
    {
        data[top++] = v; // BUG
    }
    __device__ int pop()
    {
        return data[--top]; // BUG
    }
    __device__ bool empty() const
    {
        return top == 0;
    }
};

struct Padded {
    char c;
    double d;
    short s;
};

union Bits {
    float f;
    unsigned u;
};

__device__ __noinline__ void min_max(const float *v, int n, float *lo, float *hi)
{
    *lo = *hi = v[0];
    for (int i = 1; i < n; i++) {
        *lo = fminf(*lo, v[i]);
        *hi = fmaxf(*hi, v[i]);
    }
}

__device__ __noinline__ Ray make_ray(float a)
{
    Ray r;
    r.o = {a, a, a};
    r.d = {1, 0, 0};
    r.t = 0;
    r.hit = -1;
    return r;
}

__device__ bool solve(float a, float b, float *r)
{
    if (a == 0)
        return false;
    *r = b / a;
    return true;
}

__global__ void vec3_index_right(const float *x, float *y)
{
    Vec3 v;
    for (int i = 0; i < 3; i++)
        v[i] = x[threadIdx.x + i];
    Vec3 w = v + v;
    y[threadIdx.x] = w[0] + w[2];
}

__global__ void min_max_right(const float *x, float *y)
{
    float w[6], lo, hi;
    for (int i = 0; i < 6; i++)
        w[i] = x[threadIdx.x + i];
    min_max(w, 6, &lo, &hi);
    y[threadIdx.x] = hi - lo;
}

__global__ void ray_right(const float *x, float *y)
{
    Ray r = make_ray(x[threadIdx.x]);
    Ray s;
    s = r;
    s.t += 1;
    y[threadIdx.x] = s.o.x + s.t + s.hit;
}

__global__ void stack_right(const int *x, int *y)
{
    Stack<16> s;
    s.push(x[threadIdx.x]);
    s.push(3);
    int sum = 0;
    while (!s.empty())
        sum += s.pop();
    y[threadIdx.x] = sum;
}

__global__ void stack_wrong(const int *x, int *y)
{
    Stack<4> s;
    for (int i = 0; i < 5; i++)
        s.push(x[i]);
    y[threadIdx.x] = s.pop();
}

__global__ void stack_underflow_wrong(const int *x, int *y)
{
    Stack<4> s;
    s.push(x[threadIdx.x]);
    s.pop();
    y[threadIdx.x] = s.pop();
}

__global__ void padded_right(const float *x, double *y)
{
    Padded p;
    p.c = 1;
    p.d = x[threadIdx.x];
    p.s = 2;
    __shared__ Padded sh[64];
    sh[threadIdx.x] = p;
    __syncthreads();
    Padded q = sh[63 - threadIdx.x];
    y[threadIdx.x] = q.d + q.s + q.c;
}

__global__ void bits_right(const float *x, float *y)
{
    Bits b;
    b.f = x[threadIdx.x];
    b.u &= 0x7fffffff;
    y[threadIdx.x] = b.f;
}

__global__ void solve_maybe_right(const float *x, float *y)
{
    float r;
    if (solve(x[threadIdx.x], 2.0f, &r))
        y[threadIdx.x] = r;
    else
        y[threadIdx.x] = 0;
}

__global__ void solve_maybe_wrong(const float *x, float *y)
{
    float r;
    solve(threadIdx.x == 5 ? 0.0f : x[threadIdx.x], 2.0f, &r);
    y[threadIdx.x] = r; // BUG
}

__global__ void cond_init_right(const int *x, int *y)
{
    int v, t = threadIdx.x;
    bool have = false;
    if (x[t] > 50) {
        v = x[t];
        have = true;
    }
    y[t] = have ? v : -1;
}

__global__ void select_unset_right(const int *x, int *y)
{
    int best, n = 0;
    for (int i = 0; i < 8; i++)
        if (n == 0 || x[threadIdx.x + i] > best) {
            best = x[threadIdx.x + i];
            n++;
        }
    y[threadIdx.x] = best;
}

__global__ void unset_pass_by_value_unused_right(int *y)
{
    int v;
    auto f = [](int a, bool use) { return use ? a : 3; };
    if (threadIdx.x > 100)
        v = 5;
    y[threadIdx.x] = threadIdx.x > 100 ? f(v, true) : 3;
}

__global__ void float4_xyz_right(const float *x, float *y)
{
    __shared__ float4 p[64];
    int t = threadIdx.x;
    p[t] = make_float4(x[t], x[t], x[t], 0);
    __syncthreads();
    float4 q = p[63 - t];
    y[t] = q.x + q.y + q.z;
}

__global__ void float3_shared_right(const float *x, float *y)
{
    __shared__ float3 p[64];
    int t = threadIdx.x;
    p[t] = {x[t], x[t], x[t]};
    __syncthreads();
    float3 q = p[63 - t];
    y[t] = q.x + q.y + q.z;
}

__global__ void reduce_cg_right(const float *x, float *y)
{
    auto b = cg::this_thread_block();
    auto w = cg::tiled_partition<32>(b);
    float s = cg::reduce(w, x[threadIdx.x], cg::plus<float>());
    if (w.thread_rank() == 0)
        atomicAdd(y, s);
}

__global__ void last_block_right(const float *x, float *part, unsigned *count, float *y)
{
    __shared__ bool last;
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int i = 0; i < gridDim.x; i++)
            sum += ((volatile float *)part)[i];
        y[0] = sum;
    }
}

__global__ void cuda_atomic_right(int *flag, int *data, int *y)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            *data = 3;
            f.store(1, cuda::memory_order_release);
        }
    } else if (threadIdx.x == 0) {
        while (f.load(cuda::memory_order_acquire) == 0) {
        }
        y[0] = *data;
    }
}

__global__ void warp_scan_right(const int *x, int *y)
{
    int v = x[threadIdx.x], lane = threadIdx.x % 32;
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(~0u, v, d);
        if (lane >= d)
            v += u;
    }
    y[threadIdx.x] = v;
}

__global__ void malloc_grid_right(int *y)
{
    int *p = (int *)malloc(8);
    if (!p)
        return;
    p[0] = threadIdx.x;
    p[1] = blockIdx.x;
    y[blockIdx.x * 64 + threadIdx.x] = p[0] + p[1];
    free(p);
}

__global__ void new_array_class_right(int *y)
{
    Stack<8> *s = new Stack<8>[2];
    s[0].push(4);
    s[1].push(threadIdx.x);
    y[threadIdx.x] = s[0].pop() + s[1].pop();
    delete[] s;
}

__global__ void two_d_local_right(const float *x, float *y)
{
    float a[4][4], b[4][4] = {};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            a[i][j] = x[i * 4 + j];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 4; k++)
                b[i][j] += a[i][k] * a[k][j];
    float s = 0;
    for (float *p = &b[0][0]; p < &b[0][0] + 16; p++)
        s += *p;
    y[threadIdx.x] = s;
}

__global__ void char_buffer_right(const int *x, int *y)
{
    char buf[12];
    int v = x[threadIdx.x], n = 0;
    do {
        buf[n++] = '0' + v % 10;
        v /= 10;
    } while (v);
    int r = 0;
    for (char *p = buf + n; p-- > buf;)
        r = r * 10 + (*p - '0');
    y[threadIdx.x] = r;
}

__global__ void aligned_reinterpret_right(const float *x, float *y)
{
    alignas(16) float v[4];
    *reinterpret_cast<float4 *>(v) = *reinterpret_cast<const float4 *>(x + 4 * (threadIdx.x % 16));
    y[threadIdx.x] = v[0] + v[3];
}

__global__ void switch_case_right(const int *x, int *y)
{
    int r = 0;
    switch (x[threadIdx.x] % 3) {
    case 0: {
        int t[3] = {1, 2, 3};
        const int *p = t;
        r = p[1];
        break;
    }
    case 1: r = 5; break;
    default: r = 7;
    }
    y[threadIdx.x] = r;
}
