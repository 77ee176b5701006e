// Loops, branches and jumps.
__global__ void switches(const int *in, int *out)
{
    int v = in[threadIdx.x], r = 0;
    switch (v & 7) {
    case 0: r = 1; break;
    case 1: r = 10; /* falls through */
    case 2: r += 100; break;
    case 3 ... 5: r = -v; break;
    default: r = 7;
    }
    out[threadIdx.x] = r;
}

__global__ void collatz(int *out, int limit)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x + 1, steps = 0;
    do {
        if (n == 1) {
            goto done;
        }
        n = n % 2 ? 3 * n + 1 : n / 2;
    } while (++steps < limit);
done:
    out[blockIdx.x * blockDim.x + threadIdx.x] = steps;
}

__global__ void breaks(const int *in, int *out, int n)
{
    int sum = 0;
    for (int i = threadIdx.x;; i++) {
        if (i >= n || in[i] > 90) {
            break;
        }
        if (in[i] < 0) {
            continue;
        }
        sum += in[i];
    }
    out[threadIdx.x] = sum;
}

__global__ void early_return(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    if (in[i] < 0) {
        out[i] = -1;
        return;
    }
    out[i] = in[i] / (i + 1) + in[i] % (i + 1);
}

__global__ void local_arrays(const int *in, int *out)
{
    int digits[10] = {};
    for (int v = abs(in[threadIdx.x]); v; v /= 10) {
        digits[v % 10]++;
    }
    int code = 0;
    for (int d = 9; d >= 0; d--) {
        code = code * 4 + digits[d] % 4;
    }
    out[threadIdx.x] = code;
}
