// Votes and matches of a warp, and the mask of active lanes.
__global__ void ballots(const int *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int warp = i / 32;
    unsigned positive = __ballot_sync(0xffffffff, in[i] > 0);
    int any = __any_sync(0xffffffff, in[i] > 95);
    int all = __all_sync(0xffffffff, in[i] > -95);
    if (threadIdx.x % 32 == 0) {
        out[3 * warp] = positive;
        out[3 * warp + 1] = any != 0;
        out[3 * warp + 2] = all != 0;
    }
}

__global__ void matches(const int *in, const unsigned long long *wide, unsigned *out)
{
    int t = threadIdx.x;
    out[t] = __match_any_sync(0xffffffff, in[t]);
    out[32 + t] = __match_any_sync(0xffffffff, wide[t]);
    int same;
    unsigned mask = __match_all_sync(0xffffffff, in[t], &same);
    out[64 + t] = same ? mask : 0;
    mask = __match_all_sync(0xffffffff, 17, &same);
    out[96 + t] = same ? mask : 0;
}

__global__ void rank_in_vote(const int *in, int *out, int *count)
{
    __shared__ int base;
    int t = threadIdx.x;
    if (t == 0) {
        base = 0;
    }
    __syncwarp();
    unsigned wanted = __ballot_sync(0xffffffff, in[t] > 0);
    if (in[t] > 0) {
        int rank = __popc(wanted & ((1u << t) - 1));
        out[base + rank] = in[t];
    }
    if (t == 0) {
        *count = __popc(wanted);
    }
}

__global__ void active(unsigned *out)
{
    out[threadIdx.x] = __activemask();
}
