// Device functions: inlined or not, default arguments, recursion, pointers to functions.
__device__ __forceinline__ int at_once(int x)
{
    return x * 3 + 1;
}

__device__ __noinline__ int called(int x, int y = 10)
{
    return x - y;
}

__host__ __device__ inline float both(float x)
{
    return x * 0.5f;
}

__device__ int defined_later(int x);

__global__ void kinds(const int *in, float *out)
{
    int v = in[threadIdx.x];
    out[threadIdx.x] = at_once(v) + called(v) + called(v, 3) + both(v) + defined_later(v);
}

__device__ int defined_later(int x)
{
    return x % 5;
}

__device__ unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ int ackermann(int m, int n)
{
    if (m == 0) {
        return n + 1;
    }
    return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__global__ void recursive(unsigned *out)
{
    out[threadIdx.x] = fibonacci(threadIdx.x % 12) + ackermann(2, threadIdx.x % 4);
}

__device__ int depth_first(const int *left, const int *right, int node)
{
    return node < 0 ? 0
                    : node + depth_first(left, right, left[node]) +
                          depth_first(left, right, right[node]);
}

__global__ void tree_sums(const int *left, const int *right, int *out)
{
    out[threadIdx.x] = depth_first(left, right, threadIdx.x);
}

typedef float (*operation)(float, float);

__device__ float plus(float a, float b)
{
    return a + b;
}

__device__ float minus(float a, float b)
{
    return a - b;
}

__device__ float times(float a, float b)
{
    return a * b;
}

__device__ operation operations[3] = {plus, minus, times};

__global__ void chosen(const float *a, const float *b, float *out)
{
    operation f = operations[threadIdx.x % 3];
    out[threadIdx.x] = f(a[threadIdx.x], b[threadIdx.x]);
}

__device__ void swap(int &a, int &b)
{
    int kept = a;
    a = b;
    b = kept;
}

__global__ void sort_four(int4 *data)
{
    int v[4] = {data[threadIdx.x].x, data[threadIdx.x].y, data[threadIdx.x].z, data[threadIdx.x].w};
    for (int end = 3; end > 0; end--) {
        for (int i = 0; i < end; i++) {
            if (v[i] > v[i + 1]) {
                swap(v[i], v[i + 1]);
            }
        }
    }
    data[threadIdx.x] = make_int4(v[0], v[1], v[2], v[3]);
}
