// Two halves or four bytes of a word at once.
__global__ void halves(const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    out[8 * i] = __vadd2(x, y);
    out[8 * i + 1] = __vsub2(x, y);
    out[8 * i + 2] = __vmaxs2(x, y);
    out[8 * i + 3] = __vminu2(x, y);
    out[8 * i + 4] = __vabs2(x);
    out[8 * i + 5] = __vavgu2(x, y);
    out[8 * i + 6] = __vcmpgtu2(x, y);
    out[8 * i + 7] = __vaddus2(x, y);
}

__global__ void bytes(const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    out[10 * i] = __vadd4(x, y);
    out[10 * i + 1] = __vsub4(x, y);
    out[10 * i + 2] = __vmaxu4(x, y);
    out[10 * i + 3] = __vmins4(x, y);
    out[10 * i + 4] = __vabsdiffu4(x, y);
    out[10 * i + 5] = __vavgu4(x, y);
    out[10 * i + 6] = __vcmpeq4(x & 0x0f0f0f0f, y & 0x0f0f0f0f);
    out[10 * i + 7] = __vsetgtu4(x, y);
    out[10 * i + 8] = __vsadu4(x, y);
    out[10 * i + 9] = __vsubus4(x, y);
}
