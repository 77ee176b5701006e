/*
 * Vectors, arithmetic and numbers of 16 bits as people write them. It only has to compile, here and
 * under nvcc -arch=sm_90 --expt-relaxed-constexpr.
 */
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <limits>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <type_traits>
using namespace std;
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
#define WARP_SIZE 32
#define FULL_MASK 0xffffffff
#define FLOAT4(p) (reinterpret_cast<float4 *>(&(p))[0])
#define HALF2(p) (reinterpret_cast<half2 *>(&(p))[0])
#define LDST128BITS(p) (reinterpret_cast<float4 *>(&(p))[0])
#define INT4(value) (reinterpret_cast<int4 *>(&(value))[0])
inline __host__ __device__ float4 make_float4(float s)
{
    return make_float4(s, s, s, s);
}
inline __host__ __device__ float3 make_float3(float s)
{
    return make_float3(s, s, s);
}
inline __host__ __device__ float3 make_float3(float4 a)
{
    return make_float3(a.x, a.y, a.z);
}
inline __host__ __device__ float3 operator+(float3 a, float3 b)
{
    return make_float3(a.x + b.x, a.y + b.y, a.z + b.z);
}
inline __host__ __device__ void operator+=(float3 &a, float3 b)
{
    a.x += b.x;
    a.y += b.y;
    a.z += b.z;
}
inline __host__ __device__ float3 operator*(float3 a, float b)
{
    return make_float3(a.x * b, a.y * b, a.z * b);
}
inline __host__ __device__ float3 operator*(float b, float3 a)
{
    return a * b;
}
inline __host__ __device__ float3 operator*(float3 a, float3 b)
{
    return make_float3(a.x * b.x, a.y * b.y, a.z * b.z);
}
inline __host__ __device__ float dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
inline __host__ __device__ float length(float3 v)
{
    return sqrtf(dot(v, v));
}
inline __host__ __device__ float3 normalize(float3 v)
{
    float inv = rsqrtf(dot(v, v));
    return v * inv;
}
inline __device__ __host__ float lerp(float a, float b, float t)
{
    return a + t * (b - a);
}
inline __device__ __host__ float clamp(float f, float a, float b)
{
    return fmaxf(a, fminf(f, b));
}
inline __device__ __host__ float3 fminf(float3 a, float3 b)
{
    return make_float3(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z));
}
inline __device__ __host__ float3 floorf(float3 v)
{
    return make_float3(floorf(v.x), floorf(v.y), floorf(v.z));
}
inline __host__ __device__ float3 fabs(float3 v)
{
    return make_float3(fabs(v.x), fabs(v.y), fabs(v.z));
}
struct Ray {
    float3 o;
    float3 d;
    __device__ float3 at(float t) const
    {
        return o + t * d;
    }
};
struct __align__(16) Body
{
    float x, y, z, m;
};
template <typename T> struct Vec4;
template <> struct Vec4<float> {
    using type = float4;
};
template <> struct Vec4<half> {
    using type = uint2;
};
template <> struct Vec4<double> {
    using type = double4;
};
template <typename T, int N> struct alignas(sizeof(T) * N) Pack {
    T v[N];
};
union Bits {
    float f;
    unsigned u;
    int i;
};
union H8 {
    uint4 u;
    half h[8];
    half2 h2[4];
};
struct MD {
    float m, d;
};
__device__ __forceinline__ MD reduce_md(MD a, MD b)
{
    bool bigger = a.m > b.m;
    MD x = bigger ? a : b, y = bigger ? b : a;
    MD r;
    r.d = x.d + y.d * __expf(y.m - x.m);
    r.m = x.m;
    return r;
}
__constant__ float3 lights[4];
__constant__ const float coeff[5] = {1.f, 2.f, 3.f, 4.f, 5.f};
__device__ float3 gpos;
template <const int N = 32> __device__ __forceinline__ float warp_sum(float v)
{
#pragma unroll
    for (int m = N >> 1; m >= 1; m >>= 1)
        v += __shfl_xor_sync(FULL_MASK, v, m);
    return v;
}
__global__ void __launch_bounds__(256, 2)
    vectorised(float *__restrict__ a, const float *__restrict__ b, int n)
{
    int idx = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (idx < n) {
        float4 ra = FLOAT4(a[idx]);
        float4 rb = *(float4 *)&b[idx];
        float4 rc;
        rc.x = fmaxf(ra.x, rb.x);
        rc.y = max(ra.y, 0.f);
        rc.z = fminf(ra.z, 6.f);
        rc.w = 1.0f / (1.0f + expf(-ra.w));
        FLOAT4(a[idx]) = rc;
    }
}
__global__ void halves(half *x, half *y, int n)
{
    int i = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    half px[8], py[8];
    LDST128BITS(px[0]) = LDST128BITS(x[i]);
    const half2 z2 = {__float2half(0.0f), __float2half(0.0f)};
#pragma unroll
    for (int k = 0; k < 8; k += 2) {
        HALF2(py[k]) = __hmax2(HALF2(px[k]), z2);
        HALF2(py[k]) = __hadd2(HALF2(py[k]), __half2half2(__float2half(1.f)));
    }
    half s = __hadd(px[0], px[1]) * hexp(-px[2]) / (__float2half(1.0f) + hexp(px[3]));
    s += px[4];
    py[0] = s > py[1] ? s : py[1];
    if (__hgt(s, __float2half(0.f)) && __hlt(s, HALF2(px[0]).x))
        py[1] = __hfma(s, s, s);
    float f = __half2float(s) + (float)py[2] + __low2float(z2) + static_cast<float>(px[1]);
    py[3] = __float2half_rn(f);
    py[4] = (half)f;
    py[5] = half(0.5f);
    py[6] = __int2half_rn(n);
    py[7] = (half)1;
    LDST128BITS(y[i]) = LDST128BITS(py[0]);
}
__global__ void bodies(float4 *pos, float4 *vel, int n, float dt)
{
    __shared__ float4 tile[64];
    __shared__ float3 t3[64];
    __shared__ half2 th[64];
    __shared__ H8 u[4];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 p = pos[i];
    float3 acc = {0.0f, 0.0f, 0.0f}, zero = {};
    float3 acc2 = make_float3(0);
    float4 sum[4] = {0};
    tile[threadIdx.x] = p;
    t3[threadIdx.x] = make_float3(p);
    th[threadIdx.x] = __floats2half2_rn(p.x, p.y);
    u[threadIdx.x & 3].u = make_uint4(1, 2, 3, 4);
    __syncthreads();
    for (int j = 0; j < 64; j++) {
        float3 r;
        r.x = tile[j].x - p.x;
        r.y = tile[j].y - p.y;
        r.z = tile[j].z - p.z;
        float d2 = dot(r, r) + 1e-9f;
        float inv = rsqrtf(d2);
        float inv3 = inv * inv * inv;
        acc.x += r.x * inv3;
        acc += r * inv3 * 2;
        acc2 = acc2 + t3[j];
    }
    Ray ray = {make_float3(1.f, 2.f, 3.f), {0, 0, 1}};
    acc += ray.at(2.f);
    acc = normalize(acc) + fminf(acc, acc2) + zero + lights[0] + fabs(floorf(acc));
    gpos = acc;
    (&vel[i].x)[0] = acc.x;
    reinterpret_cast<float *>(&vel[i])[1] = length(acc);
    vel[i].z = u[0].h[0];
    vel[i].w = sum[1].x + clamp(acc.x, 0.f, 1.f) + lerp(0, 1, 0.5f);
    double4 dd = make_double4(1, 2, 3, 4);
    double2 d2 = {1.0, 2.0};
    vel[i].x += dd.x + d2.y;
    const float4 &ref = pos[i];
    vel[i].y += ref.y;
    float4 *pp = &pos[0];
    vel[i].x += (*pp).x + (pp + 1)->y;
}
__global__ void numbers(unsigned *a, long long *l, double *d, float *f, uchar4 *px, int n)
{
    int i = threadIdx.x;
    unsigned long long w = 5;
    size_t s = 7;
    const int c = coeff[2];
    a[i] = __popc(a[i]) + __clz(a[i]) + __ffs(a[i]) + __brev(a[i]) + min(n, 3) + max(a[i], 1u) +
           min(blockDim.x, 4u) + umin(1u, 2u) + abs(n) + __popcll(w) + __ffsll(w) + min((int)s, n) +
           max(s, (size_t)3) + __byte_perm(1, 2, 0x3210) + __dp4a(1, 2, 3) + __mul24(2, 3) +
           __umulhi(3u, 4u) + __float_as_int(f[i]) + __float_as_uint(1.f) + __vadd4(1, 2) +
           __funnelshift_l(1, 2, 3) + c + __sad(1, 2, 3u) + __float2int_rn(f[i]) +
           (int)ceilf(f[i]) + __float2uint_rz(f[i]);
    l[i] = llabs(l[i]) + llmin(1ll, 2ll) + __mul64hi(1, 2) + __double_as_longlong(d[i]) +
           __double2ll_rn(d[i]) + clock64() + clock();
    d[i] = sqrt(d[i]) + pow(d[i], 2.0) + pow(2.0f, n) + fma(d[i], 2.0, 1.0) + rsqrt(d[i]) +
           abs(d[i]) + fabs(f[i]) + __ddiv_rn(1.0, d[i]) + __fma_rn(d[i], 1., 2.) + erfinv(d[i]) +
           normcdf(d[i]) + tgamma(d[i]) + cbrt(d[i]) + hypot(d[i], 1.0) + __hiloint2double(1, 2) +
           __longlong_as_double(1) + exp10(d[i]) + sinpi(d[i]) + copysign(1.0, d[i]) +
           fmod(d[i], 2.0) + norm3d(1., 2., 3.) + rint(d[i]) + max(d[i], 0.0) + max(f[i], d[i]);
    float sn, cs;
    sincosf(f[i], &sn, &cs);
    __sincosf(f[i], &sn, &cs);
    double ds, dc;
    sincos(d[i], &ds, &dc);
    int e;
    float ip;
    f[i] = __fdividef(f[i], 2.f) + __powf(f[i], 2.f) + __saturatef(f[i]) + __fmaf_rn(f[i], 1, 2) +
           __frcp_rn(f[i]) + __fsqrt_rn(f[i]) + __frsqrt_rn(f[i]) + __fadd_rn(1, 2) +
           __int2float_rn(n) + __uint2float_rn(a[i]) + sn + cs + ds + frexpf(f[i], &e) +
           modff(f[i], &ip) + ldexpf(f[i], e) + roundf(f[i]) + lroundf(f[i]) + fdimf(f[i], 1.f) +
           erff(f[i]) + log1pf(f[i]) + expm1f(f[i]) + exp2f(f[i]) + __exp10f(f[i]) + __log2f(f[i]) +
           __logf(f[i]) + __tanf(f[i]) + tanhf(f[i]) + powf(f[i], 3.f) + abs(f[i]) + sqrt(f[i]) +
           exp(f[i]) + isnan(f[i]) + isinf(f[i]) + INFINITY + FLT_MAX + INT_MAX + (float)M_PI +
           numeric_limits<float>::max() + std::min(1, 2) + std::max(1.f, 2.f) + std::abs(f[i]) +
           std::sqrt(f[i]) + cospif(f[i]) + j0f(f[i]) + nanf("") + signbit(f[i]) + isfinite(d[i]) +
           __uint_as_float(1u) + __int_as_float(1) + fmaf(1, 2, 3) + rnorm3df(1, 2, 3) +
           cyl_bessel_i0f(f[i]) + nextafterf(f[i], 1.f) + __ldg(&f[i]) + __ldg(a) + std::exp(f[i]) +
           std::pow(f[i], 2);
    uchar4 q = px[i];
    uchar3 q3 = make_uchar3(q.x, q.y, q.z);
    px[i] = make_uchar4(q3.z, 255 - q.y, (unsigned char)(q.z * 0.5f), 0xff);
    int2 xy = make_int2(1, 2);
    int3 xyz = {1, 2, 3};
    ushort4 us = {1, 2, 3, 4};
    longlong2 ll = {1, 2};
    a[0] += xy.x + xyz.z + us.w + ll.y;
    dim3 bd = blockDim;
    uint3 tid = threadIdx;
    dim3 g2(1, 2);
    a[1] += bd.x + tid.y + g2.z;
    if (i > 1000000) {
        printf("%d %f\n", i, f[i]);
        __trap();
    }
    __nanosleep(10);
    Bits b;
    b.f = f[i];
    a[2] = b.u;
    Pack<half, 8> pk;
    pk.v[0] = __float2half(1.f);
    Vec4<half>::type vv = {1u, 2u};
    a[3] = vv.y;
    bool t = is_same<Vec4<float>::type, float4>::value;
    a[4] = t;
    __nv_bfloat16 bf = __float2bfloat16(f[i]);
    __nv_bfloat162 b2 = __floats2bfloat162_rn(1.f, 2.f);
    bf = __hadd(bf, bf);
    b2 = __hmul2(b2, b2);
    f[i] = __bfloat162float(bf) + __high2float(b2);
    nv_bfloat16 cc = bf * bf;
    f[i] += float(cc);
}
