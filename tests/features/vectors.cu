// Vector types: members, make_, constructors, braces, loads of a whole vector.
__global__ void add4(const float4 *a, const float4 *b, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 x = a[i], y = b[i];
        out[i] = make_float4(x.x + y.x, x.y - y.y, x.z * y.z, fmaxf(x.w, y.w));
    }
}

__global__ void points(const float3 *in, float3 *out, float *length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float3 p = in[i];
    float3 shift = {1.0f, 2.0f, 3.0f};
    out[i] = make_float3(p.y + shift.x, p.z + shift.y, p.x + shift.z);
    length[i] = sqrtf(p.x * p.x + p.y * p.y + p.z * p.z);
}

__global__ void pixels(const uchar4 *in, uchar4 *out, unsigned char *grey)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uchar4 c = in[i];
    out[i] = make_uchar4(c.z, c.y, c.x, 255);
    grey[i] = (c.x * 77 + c.y * 150 + c.z * 29) >> 8;
}

__global__ void small_types(const char2 *a, const short4 *b, const ushort2 *c, int *out)
{
    int i = threadIdx.x;
    char2 x = a[i];
    short4 y = b[i];
    ushort2 z = c[i];
    out[i] = x.x * x.y + y.x + y.y - y.z + y.w + z.x - z.y;
}

__global__ void wide_types(const double2 *a, const longlong2 *b, const uint4 *c, double *out)
{
    int i = threadIdx.x;
    double2 x = a[i];
    longlong2 y = b[i];
    uint4 z = c[i];
    out[i] = x.x * x.y + (double)(y.x - y.y) + z.x % 7 + z.w % 5;
}

__global__ void ways_to_make(int *out)
{
    int2 a = make_int2(1, 2);
    int3 b{3, 4, 5};
    int4 c = {6, 7, 8, 9};
    uint3 d = make_uint3(10, 11, 12);
    int2 e = int2{13, 14};
    dim3 f(2), g(2, 3), h(2, 3, 4), i = 5;
    dim3 j = {6, 7};
    const int all[] = {a.x,
                       a.y,
                       b.x,
                       b.y,
                       b.z,
                       c.x,
                       c.y,
                       c.z,
                       c.w,
                       (int)d.x,
                       (int)d.y,
                       (int)d.z,
                       e.x,
                       e.y,
                       (int)(f.x * f.y * f.z),
                       (int)(g.x * g.y * g.z),
                       (int)(h.x * h.y * h.z),
                       (int)(i.x + i.y + i.z),
                       (int)(j.x + j.y + j.z)};
    for (int k = threadIdx.x; k < (int)(sizeof all / sizeof all[0]); k += blockDim.x) {
        out[k] = all[k];
    }
}

__global__ void sizes(int *out)
{
    const int all[] = {sizeof(char3),   sizeof(float3),     alignof(float3),  sizeof(float4),
                       alignof(float4), sizeof(double2),    alignof(double2), sizeof(uchar4),
                       alignof(uchar4), sizeof(short3),     alignof(short2),  sizeof(longlong2),
                       sizeof(dim3),    sizeof(ulonglong4), alignof(int2)};
    out[threadIdx.x] = all[threadIdx.x];
}

__global__ void as_vectors(const float *in, float *out)
{
    const float2 *pairs = reinterpret_cast<const float2 *>(in);
    __shared__ float2 kept[64];
    kept[threadIdx.x] = pairs[threadIdx.x];
    __syncthreads();
    float2 other = kept[63 - threadIdx.x];
    reinterpret_cast<float2 *>(out)[threadIdx.x] = make_float2(other.y, other.x);
}
