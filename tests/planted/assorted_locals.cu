/* Local arrays in functions, loops and lambdas: correct, or with a slip. */

template <typename T, int N> struct Array {
    T v[N];
    __device__ T &operator[](int i)
    {
        return v[i];
    }
    __device__ const T &operator[](int i) const
    {
        return v[i];
    }
    __device__ T *begin()
    {
        return v;
    }
    __device__ T *end()
    {
        return v + N;
    }
};

struct Matrix {
    float m[3][3];
};

__device__ Matrix multiply(const Matrix &a, const Matrix &b)
{
    Matrix c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            c.m[i][j] = 0;
            for (int k = 0; k < 3; k++)
                c.m[i][j] += a.m[i][k] * b.m[k][j];
        }
    return c;
}

__device__ void heap_sift(int *h, int n, int i)
{
    for (;;) {
        int l = 2 * i + 1, b = i;
        if (l < n && h[l] > h[b])
            b = l;
        if (l + 1 < n && h[l + 1] > h[b]) // BUG
            b = l + 1;
        if (b == i)
            return;
        int t = h[i];
        h[i] = h[b];
        h[b] = t;
        i = b;
    }
}

__device__ int fib(int n)
{
    int memo[24] = {0, 1};
    for (int i = 2; i <= n; i++)
        memo[i] = memo[i - 1] + memo[i - 2];
    return memo[n];
}

__device__ int ackermann_like(int *scratch, int depth)
{
    int mine[3];
    for (int i = 0; i < 3; i++)
        mine[i] = scratch[i] + 1;
    if (depth == 0)
        return mine[2];
    return ackermann_like(mine, depth - 1);
}

__global__ void array_class_right(const int *x, int *y)
{
    Array<int, 8> a;
    for (int &v : a)
        v = 0;
    for (int i = 0; i < 8; i++)
        a[i] += x[threadIdx.x + i];
    int s = 0;
    for (int *p = a.begin(); p != a.end(); ++p)
        s += *p;
    y[threadIdx.x] = s;
}

__global__ void matrix_right(const float *x, float *y)
{
    Matrix a;
    for (int i = 0; i < 9; i++)
        (&a.m[0][0])[i] = x[i];
    Matrix b = multiply(a, multiply(a, a));
    y[threadIdx.x] = b.m[threadIdx.x % 3][1];
}

__global__ void heap_sort_right(const int *x, int *y)
{
    int h[16];
    for (int i = 0; i < 16; i++)
        h[i] = x[threadIdx.x + i];
    for (int i = 7; i >= 0; i--)
        heap_sift(h, 16, i);
    for (int n = 15; n > 0; n--) {
        int t = h[0];
        h[0] = h[n];
        h[n] = t;
        heap_sift(h, n, 0);
    }
    y[threadIdx.x] = h[threadIdx.x % 16];
}

__global__ void heap_sort_wrong(const int *x, int *y)
{
    int h[16];
    for (int i = 0; i < 16; i++)
        h[i] = x[threadIdx.x + i];
    for (int i = 7; i >= 0; i--)
        heap_sift(h, 17, i);
    y[threadIdx.x] = h[threadIdx.x % 16];
}

__global__ void fib_right(const int *x, int *y)
{
    y[threadIdx.x] = fib(x[threadIdx.x] % 24);
}

__global__ void recursive_arrays_right(const int *x, int *y)
{
    int s[3] = {x[0], x[1], x[2]};
    y[threadIdx.x] = ackermann_like(s, threadIdx.x % 5);
}

__global__ void lambda_arrays_right(const int *x, int *y)
{
    int a[4] = {1, 2, 3, 4};
    auto sum = [&a](int n) {
        int s = 0;
        for (int i = 0; i < n; i++)
            s += a[i];
        return s;
    };
    auto add = [=](const int *p, int n) mutable {
        a[0] = 9;
        int s = a[0];
        for (int i = 0; i < n; i++)
            s += p[i];
        return s;
    };
    y[threadIdx.x] = sum(4) + add(a, 4);
}

__global__ void lambda_arrays_wrong(const int *x, int *y)
{
    int a[4] = {1, 2, 3, 4};
    auto add = [](const int *p, int n) {
        int s = 0;
        for (int i = 0; i < n; i++)
            s += p[i]; // BUG
        return s;
    };
    y[threadIdx.x] = add(a, 5);
}

__global__ void continue_break_right(const int *x, int *y)
{
    int s = 0;
    for (int i = 0; i < 20; i++) {
        int w[3] = {i, i + 1, i + 2};
        const int *p = w;
        if (p[0] % 3 == 0)
            continue;
        if (p[0] > 15)
            break;
        s += p[2];
    }
    y[threadIdx.x] = s;
}

__global__ void early_return_right(const int *x, int *y)
{
    int w[4];
    for (int i = 0; i < 4; i++)
        w[i] = x[threadIdx.x + i];
    const int *p = w;
    if (p[0] > 50) {
        y[threadIdx.x] = 0;
        return;
    }
    y[threadIdx.x] = p[3];
}

__global__ void barrier_inside_right(const int *x, int *y)
{
    __shared__ int s[64];
    int w[2];
    int *p = w;
    p[0] = x[threadIdx.x];
    p[1] = 2;
    s[threadIdx.x] = p[0];
    __syncthreads();
    p[1] += s[63 - threadIdx.x];
    __syncthreads();
    s[threadIdx.x] = p[1];
    __syncthreads();
    y[threadIdx.x] = s[(threadIdx.x + 1) % 64] + *p;
}

__global__ void shfl_of_local_right(const int *x, int *y)
{
    int w[4];
    for (int i = 0; i < 4; i++)
        w[i] = x[threadIdx.x + i];
    for (int i = 0; i < 4; i++)
        w[i] = __shfl_xor_sync(~0u, w[i], 1 << i);
    int *p = w;
    y[threadIdx.x] = p[0] + p[3];
}

__global__ void const_table_right(const int *x, int *y)
{
    const int dx[4] = {1, 0, -1, 0};
    static const int dy[4] = {0, 1, 0, -1};
    constexpr int w[4] = {1, 2, 3, 4};
    const int *p = dx;
    int s = 0;
    for (int i = 0; i < 4; i++)
        s += p[i] * dy[i] + w[i];
    y[threadIdx.x] = s;
}

__global__ void vector_local_array_right(const float *x, float *y)
{
    float4 r[2];
    const float4 *g = reinterpret_cast<const float4 *>(x);
    for (int i = 0; i < 2; i++)
        r[i] = g[threadIdx.x % 16 + i];
    float *f = reinterpret_cast<float *>(r);
    float s = 0;
    for (int i = 0; i < 8; i++)
        s += f[i];
    y[threadIdx.x] = s;
}

__global__ void vector_local_array_wrong(const float *x, float *y)
{
    float4 r[2];
    const float4 *g = reinterpret_cast<const float4 *>(x);
    for (int i = 0; i < 2; i++)
        r[i] = g[threadIdx.x % 16 + i];
    float *f = reinterpret_cast<float *>(r);
    float s = 0;
    for (int i = 0; i <= 8; i++)
        s += f[i]; // BUG
    y[threadIdx.x] = s;
}

__global__ void swap_rows_right(const float *x, float *y)
{
    float a[3][3];
    for (int i = 0; i < 9; i++)
        a[i / 3][i % 3] = x[i];
    float *r0 = a[0], *r2 = a[2];
    for (int i = 0; i < 3; i++) {
        float t = r0[i];
        r0[i] = r2[i];
        r2[i] = t;
    }
    y[threadIdx.x] = a[0][0] + a[2][2];
}

__global__ void pointers_to_locals_right(const int *x, int *y)
{
    int a = x[threadIdx.x], b = 2, c = 3;
    int *all[3] = {&a, &b, &c};
    int s = 0;
    for (int **p = all; p != all + 3; p++)
        s += **p;
    y[threadIdx.x] = s;
}

__global__ void spin_on_shared_right(const int *x, int *y)
{
    __shared__ volatile int turn;
    if (threadIdx.x == 0)
        turn = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (turn != threadIdx.x / 32) {
        }
        y[threadIdx.x / 32] = x[threadIdx.x];
        __threadfence_block();
        turn = turn + 1;
    }
}

__global__ void device_malloc_list_right(const int *x, int *y)
{
    struct N {
        int v;
        N *n;
    };
    N *h = nullptr;
    for (int i = 0; i < 5; i++) {
        N *m = (N *)malloc(sizeof(N));
        m->v = x[i];
        m->n = h;
        h = m;
    }
    int s = 0;
    for (N *p = h; p; p = p->n)
        s += p->v;
    while (h) {
        N *n = h->n;
        free(h);
        h = n;
    }
    y[threadIdx.x] = s;
}

__global__ void float4_partial_then_full_right(const float *x, float *y)
{
    float4 v;
    v.x = x[0];
    v.y = x[1];
    v.z = x[2];
    v.w = 0;
    float4 u = v;
    u.x += 1;
    y[threadIdx.x] = u.x + u.w;
}

__global__ void long_loop_right(const int *x, int *y, int n)
{
    int s = 0;
    for (int k = 0; k < 3000; k++)
        for (int i = 0; i < 8; i++)
            s ^= x[i] + k;
    y[threadIdx.x] = s;
}
