// constexpr functions and variables, static arrays, enumerations.
constexpr int Rows = 4, Cols = 8;
enum Order { Forward, Backward = 5, Sideways };

constexpr int factorial(int n)
{
    return n <= 1 ? 1 : n * factorial(n - 1);
}

__host__ __device__ constexpr unsigned mixed(unsigned x)
{
    x ^= x >> 7;
    return x * 0x9e3779b1u;
}

struct Weights {
    static constexpr int count = 3;
    static constexpr float scale = 0.5f;
};

constexpr int FourFactorial = factorial(4);

static_assert(factorial(5) == 120, "constexpr works");

__global__ void in_functions(const int *in, int *out)
{
    static constexpr int primes[5] = {2, 3, 5, 7, 11};
    constexpr int sum = FourFactorial + Rows * Cols;
    const int offsets[Weights::count] = {-1, 0, 1};
    int t = threadIdx.x;
    __shared__ int kept[Rows][Cols];
    kept[t / Cols][t % Cols] = in[t];
    __syncthreads();
    int around = 0;
    for (int k = 0; k < Weights::count; k++) {
        around += kept[t / Cols][(t % Cols + offsets[k] + Cols) % Cols];
    }
    out[t] =
        around * primes[t % 5] + sum + (int)(Weights::scale * t) + (t % 2 ? Backward : Sideways);
}

__global__ void hashes(unsigned *out)
{
    constexpr unsigned first = mixed(1);
    out[threadIdx.x] = mixed(threadIdx.x) ^ first;
}
