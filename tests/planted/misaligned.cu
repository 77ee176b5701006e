/* Misaligned accesses, and their correct twins. */
#include <cstring>

/* Rows of 7 floats are read as vectors of four. */
__global__ void vectors_of_odd_rows(const float *x, float *y, int cols)
{
    const float *row = x + threadIdx.x * cols;
    float4 v = *reinterpret_cast<const float4 *>(row); // BUG
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}

__global__ void vectors_of_even_rows(const float *x, float *y, int cols)
{
    const float *row = x + threadIdx.x * cols;
    float4 v = *reinterpret_cast<const float4 *>(row);
    y[threadIdx.x] = v.x + v.y + v.z + v.w;
}

/* A number behind a header of three bytes. */
__global__ void number_behind_header(const unsigned char *message, int *y)
{
    const int *body = reinterpret_cast<const int *>(message + 3);
    y[threadIdx.x] = body[threadIdx.x]; // BUG
}

__global__ void number_behind_header_copied(const unsigned char *message, int *y)
{
    int value;
    memcpy(&value, message + 3 + 4 * threadIdx.x, sizeof value);
    y[threadIdx.x] = value;
}

__global__ void number_behind_header_by_bytes(const unsigned char *message, unsigned *y)
{
    const unsigned char *p = message + 3 + 4 * threadIdx.x;
    y[threadIdx.x] = p[0] | p[1] << 8 | p[2] << 16 | (unsigned)p[3] << 24;
}

/* Doubles in a shared pool behind an odd number of ints. */
__global__ void doubles_behind_ints(const double *x, double *y, int ints)
{
    extern __shared__ int pool[];
    double *d = reinterpret_cast<double *>(pool + ints);
    d[threadIdx.x] = x[threadIdx.x]; // BUG
    __syncthreads();
    y[threadIdx.x] = d[blockDim.x - 1 - threadIdx.x]; // BUG
}

__global__ void doubles_before_ints(const double *x, double *y)
{
    extern __shared__ double numbers[];
    int *flags = reinterpret_cast<int *>(numbers + blockDim.x);
    numbers[threadIdx.x] = x[threadIdx.x];
    flags[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x] * flags[0];
}

/* A store of two floats at every float. */
__global__ void pair_stored_at_odd(float *x)
{
    *reinterpret_cast<float2 *>(x + 3 * threadIdx.x) = make_float2(1.0f, 2.0f); // BUG
}

__global__ void pair_stored_at_even(float *x)
{
    *reinterpret_cast<float2 *>(x + 2 * threadIdx.x) = make_float2(1.0f, 2.0f);
}

/* An atomic operation on a counter in a packed record. */
__global__ void counter_in_packed_record(unsigned char *records)
{
    unsigned *counter = reinterpret_cast<unsigned *>(records + 6);
    atomicAdd(counter, 1u); // BUG
}

__global__ void counter_in_aligned_record(unsigned char *records)
{
    unsigned *counter = reinterpret_cast<unsigned *>(records + 8);
    atomicAdd(counter, 1u);
}

/* The tail of a vectorised copy starts at an offset that is no multiple of four. */
__global__ void copy_from_offset(const int *x, int *y, int offset, int n)
{
    const int4 *from = reinterpret_cast<const int4 *>(x + offset);
    int4 *to = reinterpret_cast<int4 *>(y);
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        to[i] = from[i]; // BUG
    }
}

__global__ void copy_from_offset_aligned(const int *x, int *y, int offset, int n)
{
    int head = (4 - offset % 4) % 4;
    if (threadIdx.x < head) {
        y[threadIdx.x] = x[offset + threadIdx.x];
    }
    const int4 *from = reinterpret_cast<const int4 *>(x + offset + head);
    for (int i = threadIdx.x; i < (n - head) / 4; i += blockDim.x) {
        int4 v = from[i];
        int *to = y + head + 4 * i;
        to[0] = v.x;
        to[1] = v.y;
        to[2] = v.z;
        to[3] = v.w;
    }
}

struct __align__(16) quad
{
    float v[4];
};

/* A structure with an alignment of 16 bytes in an array of floats that starts one float later. */
__global__ void aligned_struct_shifted(const float *x, float *y)
{
    const quad *q = reinterpret_cast<const quad *>(x + 1);
    quad mine = q[threadIdx.x]; // BUG
    y[threadIdx.x] = mine.v[0] + mine.v[1] + mine.v[2] + mine.v[3];
}

__global__ void aligned_struct(const float *x, float *y)
{
    const quad *q = reinterpret_cast<const quad *>(x);
    quad mine = q[threadIdx.x];
    y[threadIdx.x] = mine.v[0] + mine.v[1] + mine.v[2] + mine.v[3];
}

/* A member alone is aligned, wherever the structure begins. */
__global__ void member_of_shifted(const float *x, float *y)
{
    const quad *q = reinterpret_cast<const quad *>(x + 1);
    y[threadIdx.x] = q[threadIdx.x].v[3];
}

/* Structures in records that are written one behind the other. */
struct __align__(8) entry
{
    int key;
    float value;
};

__device__ __noinline__ void put(char *record, entry e)
{
    *reinterpret_cast<entry *>(record + 4) = e; // BUG
}

__global__ void entry_behind_length(char *records)
{
    char *record = records + threadIdx.x * 16;
    *reinterpret_cast<int *>(record) = 1;
    put(record, {(int)threadIdx.x, 1.0f});
}

__global__ void entry_behind_length_padded(char *records)
{
    char *record = records + threadIdx.x * 16;
    *reinterpret_cast<int *>(record) = 1;
    put(record + 4, {(int)threadIdx.x, 1.0f});
}

/* Local memory has the same rules. */
__global__ void vector_in_local_shifted(const float *x, float *y)
{
    float v[8] = {};
    *reinterpret_cast<float4 *>(v + 1) = *reinterpret_cast<const float4 *>(x); // BUG
    y[threadIdx.x] = v[1] + v[4];
}

__global__ void vector_in_local(const float *x, float *y)
{
    float v[8] = {};
    *reinterpret_cast<float4 *>(v + 4) = *reinterpret_cast<const float4 *>(x);
    y[threadIdx.x] = v[1] + v[4];
}

__global__ void number_in_bytes_shifted(const int *x, int *y)
{
    unsigned char bytes[12] = {1, 2, 3};
    for (int i = 0; i < 9; i++) {
        bytes[i + 3] = x[threadIdx.x] + i;
    }
    const unsigned char *at = bytes;
    y[threadIdx.x] = *reinterpret_cast<const int *>(at + 3); // BUG
}

__global__ void number_in_bytes(const int *x, int *y)
{
    unsigned char bytes[12] = {1, 2, 3};
    for (int i = 0; i < 9; i++) {
        bytes[i + 3] = x[threadIdx.x] + i;
    }
    const unsigned char *at = bytes;
    y[threadIdx.x] = *reinterpret_cast<const int *>(at + 4);
}
