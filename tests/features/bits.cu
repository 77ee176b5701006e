// Counting and moving bits.
__global__ void counts(const unsigned *in, const unsigned long long *wide, int *out)
{
    int i = threadIdx.x;
    out[6 * i] = __popc(in[i]);
    out[6 * i + 1] = __clz((int)in[i]);
    out[6 * i + 2] = __ffs((int)in[i]);
    out[6 * i + 3] = __popcll(wide[i]);
    out[6 * i + 4] = __clzll((long long)wide[i]);
    out[6 * i + 5] = __ffsll((long long)wide[i]);
}

__global__ void reversed(const unsigned *in, const unsigned long long *wide,
                         unsigned long long *out)
{
    int i = threadIdx.x;
    out[2 * i] = __brev(in[i]);
    out[2 * i + 1] = __brevll(wide[i]);
}

__global__ void moved(const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = threadIdx.x;
    out[6 * i] = __byte_perm(a[i], b[i], 0x5140);
    out[6 * i + 1] = __byte_perm(a[i], b[i], b[i] & 0x7777);
    out[6 * i + 2] = __funnelshift_l(a[i], b[i], 13);
    out[6 * i + 3] = __funnelshift_r(a[i], b[i], 37);
    out[6 * i + 4] = __funnelshift_lc(a[i], b[i], 40);
    out[6 * i + 5] = __funnelshift_rc(a[i], b[i], 9);
}
