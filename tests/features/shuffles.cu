// The shuffles, for every type that they take.
__global__ void directions(const int *in, int *out)
{
    int t = threadIdx.x, v = in[t];
    out[t] = __shfl_sync(0xffffffff, v, 5);
    out[32 + t] = __shfl_sync(0xffffffff, v, (t * 7 + 3) & 31);
    out[64 + t] = __shfl_up_sync(0xffffffff, v, 3);
    out[96 + t] = __shfl_down_sync(0xffffffff, v, 9);
    out[128 + t] = __shfl_xor_sync(0xffffffff, v, 21);
}

__global__ void widths(const unsigned *in, unsigned *out)
{
    int t = threadIdx.x;
    unsigned v = in[t];
    out[t] = __shfl_sync(0xffffffff, v, 2, 8);
    out[32 + t] = __shfl_up_sync(0xffffffff, v, 1, 4);
    out[64 + t] = __shfl_down_sync(0xffffffff, v, 5, 16);
    out[96 + t] = __shfl_xor_sync(0xffffffff, v, 1, 2);
}

__global__ void warp_sums(const float *f, const double *d, const long long *l, float *fs,
                          double *ds, long long *ls)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = f[i];
    double y = d[i];
    long long z = l[i];
    for (int offset = 16; offset > 0; offset >>= 1) {
        x += __shfl_down_sync(0xffffffff, x, offset);
        y += __shfl_xor_sync(0xffffffff, y, offset);
        z += __shfl_xor_sync(0xffffffff, z, offset);
    }
    if (threadIdx.x % 32 == 0) {
        fs[i / 32] = x;
        ds[i / 32] = y;
        ls[i / 32] = z;
    }
}

__global__ void half_a_warp(const unsigned long long *in, unsigned long long *out)
{
    int t = threadIdx.x;
    if (t < 16) {
        out[t] = __shfl_sync(0x0000ffff, in[t], 15 - t);
    } else {
        out[t] = __shfl_xor_sync(0xffff0000, in[t], 1) + 1;
    }
}
