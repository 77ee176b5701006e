// Templates of kernels and of functions, with several instances.
template <typename T, int Factor> __global__ void scale(const T *in, T *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] * Factor;
    }
}

template __global__ void scale<float, 2>(const float *, float *, int);
template __global__ void scale<int, 7>(const int *, int *, int);
template __global__ void scale<double, 3>(const double *, double *, int);

template <typename T> struct Sum {
    static __device__ T identity()
    {
        return 0;
    }
    __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};

template <typename T> struct Largest {
    static __device__ T identity()
    {
        return -1000;
    }
    __device__ T operator()(T a, T b) const
    {
        return a > b ? a : b;
    }
};

template <typename T, template <typename> class Operation, unsigned Threads>
__global__ void reduce(const T *in, T *out)
{
    __shared__ T kept[Threads];
    Operation<T> operation;
    unsigned t = threadIdx.x;
    kept[t] = operation(Operation<T>::identity(), in[blockIdx.x * Threads + t]);
    __syncthreads();
    for (unsigned half = Threads / 2; half > 0; half /= 2) {
        if (t < half) {
            kept[t] = operation(kept[t], kept[t + half]);
        }
        __syncthreads();
    }
    if (t == 0) {
        out[blockIdx.x] = kept[0];
    }
}

template __global__ void reduce<int, Sum, 64>(const int *, int *);
template __global__ void reduce<float, Largest, 128>(const float *, float *);

template <bool Descending> __global__ void order_pairs(int *data)
{
    int *pair = data + 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if ((pair[0] > pair[1]) != Descending) {
        int kept = pair[0];
        pair[0] = pair[1];
        pair[1] = kept;
    }
}

template __global__ void order_pairs<true>(int *);
template __global__ void order_pairs<false>(int *);

template <typename... Numbers> __device__ int total(Numbers... numbers)
{
    return (numbers + ... + 0);
}

template <typename T> __device__ T square(T x)
{
    if constexpr (sizeof(T) == 4) {
        return x * x;
    } else {
        return x * x + 1;
    }
}

__global__ void folded(const int *in, long long *out)
{
    int v = in[threadIdx.x];
    out[threadIdx.x] = total(v, 2 * v, 3, threadIdx.x) + square((long long)v) + square(v);
}
