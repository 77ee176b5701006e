// Unions, bit fields, alignment.
union Word {
    unsigned whole;
    unsigned char byte[4];
    float real;
};

__global__ void unions(const unsigned *in, unsigned *out)
{
    Word w;
    w.whole = in[threadIdx.x];
    unsigned char kept = w.byte[0];
    w.byte[0] = w.byte[3];
    w.byte[3] = kept;
    out[2 * threadIdx.x] = w.whole;
    w.real = (float)(in[threadIdx.x] & 0xffff);
    out[2 * threadIdx.x + 1] = w.whole;
}

struct Packed {
    unsigned low : 5;
    unsigned middle : 11;
    int high : 16;
};

__global__ void bit_fields(const unsigned *in, int *out)
{
    Packed p;
    p.low = in[threadIdx.x];
    p.middle = in[threadIdx.x] >> 5;
    p.high = (int)(in[threadIdx.x] >> 16);
    p.middle += 1;
    out[threadIdx.x] = (int)p.low + (int)p.middle * 3 + p.high;
}

struct __align__(16) Aligned
{
    float x, y, z;
};

struct alignas(8) Pair {
    int a, b;
};

__global__ void aligned(const Aligned *in, Pair *out)
{
    Aligned v = in[threadIdx.x];
    out[threadIdx.x] = Pair{(int)(v.x + v.y + v.z), (int)(sizeof(Aligned) * 100 + alignof(Pair))};
}
