// Reductions of a warp in one instruction (compute capability 8.0).
__global__ void of_unsigned(const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = in[i];
    unsigned sum = __reduce_add_sync(0xffffffff, v);
    unsigned least = __reduce_min_sync(0xffffffff, v);
    unsigned most = __reduce_max_sync(0xffffffff, v);
    unsigned both = __reduce_and_sync(0xffffffff, v);
    unsigned either = __reduce_or_sync(0xffffffff, v);
    unsigned odd = __reduce_xor_sync(0xffffffff, v);
    if (threadIdx.x % 32 == 0) {
        unsigned *here = out + i / 32 * 6;
        here[0] = sum;
        here[1] = least;
        here[2] = most;
        here[3] = both;
        here[4] = either;
        here[5] = odd;
    }
}

__global__ void of_signed(const int *in, int *out)
{
    int t = threadIdx.x;
    if (t >= 8) {
        out[t] = __reduce_add_sync(0xffffff00, in[t]) - __reduce_min_sync(0xffffff00, in[t]);
    } else {
        out[t] = __reduce_max_sync(0x000000ff, in[t]);
    }
}
