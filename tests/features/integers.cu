// Integer functions.
__global__ void high_words(const int *a, const int *b, const long long *wide, long long *out)
{
    int i = threadIdx.x;
    out[5 * i] = __mulhi(a[i], b[i]);
    out[5 * i + 1] = __umulhi((unsigned)a[i], (unsigned)b[i]);
    out[5 * i + 2] = __mul64hi(wide[i], 0x123456789abcdefll);
    out[5 * i + 3] = (long long)__umul64hi((unsigned long long)wide[i], 0xfedcba9876543210ull);
    out[5 * i + 4] = __mul24(a[i], b[i]);
}

__global__ void means(const int *a, const int *b, int *out)
{
    int i = threadIdx.x;
    out[7 * i] = __hadd(a[i], b[i]);
    out[7 * i + 1] = __rhadd(a[i], b[i]);
    out[7 * i + 2] = (int)__uhadd((unsigned)a[i], (unsigned)b[i]);
    out[7 * i + 3] = (int)__urhadd((unsigned)a[i], (unsigned)b[i]);
    out[7 * i + 4] = (int)__sad(a[i] >> 2, b[i] >> 2, 5u);
    out[7 * i + 5] = (int)__usad((unsigned)a[i], (unsigned)b[i], 7u);
    out[7 * i + 6] = (int)__umul24((unsigned)a[i], (unsigned)b[i]);
}

__global__ void extremes(const int *a, const unsigned *b, const float *c, double *out)
{
    int i = threadIdx.x;
    out[7 * i] = min(a[i], 17);
    out[7 * i + 1] = max(a[i], -9);
    out[7 * i + 2] = min(b[i], 1000u);
    out[7 * i + 3] = max(b[i], 3000000000u);
    out[7 * i + 4] = min(c[i], 0.25f) + fmaxf(c[i], 0.5f);
    out[7 * i + 5] = abs(a[i]) + llabs(-5ll) + labs(-6l);
    out[7 * i + 6] = max((long long)a[i], 5ll) + fmin((double)c[i], 0.1) + umax(b[i] & 7, 3u);
}

__global__ void dot_products(const int *a, const int *b, int *out)
{
    int i = threadIdx.x;
    out[4 * i] = __dp4a(a[i], b[i], 100);
    out[4 * i + 1] = (int)__dp4a((unsigned)a[i], (unsigned)b[i], 7u);
    out[4 * i + 2] = __dp2a_lo(a[i], b[i], -3);
    out[4 * i + 3] = __dp2a_hi(a[i], b[i], 11);
}
