// Lambdas and function objects in kernels.
template <typename F> __device__ void for_each(int n, F f)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        f(i);
    }
}

__global__ void captures(const int *in, int *out, int n)
{
    int offset = in[0];
    for_each(n, [=](int i) { out[i] = in[i] + offset; });
    __syncthreads();
    auto twice = [](auto x) { return x + x; };
    for_each(n, [&](int i) { out[i] = twice(out[i]) + n; });
}

struct Above {
    float limit;
    __host__ __device__ bool operator()(float x) const
    {
        return x > limit;
    }
};

template <typename Predicate> __device__ int count_if(const float *in, int n, Predicate predicate)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        count += predicate(in[i]);
    }
    return count;
}

__global__ void functors(const float *in, int *out, int n)
{
    float mine = in[threadIdx.x];
    int above = count_if(in, n, Above{mine});
    int near = count_if(in, n, [mine](float x) { return fabsf(x - mine) < 0.25f; });
    out[threadIdx.x] = above * 100 + near;
}
