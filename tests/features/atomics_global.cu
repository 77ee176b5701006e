// Atomic operations on global memory, for every type that they take.
#define ONE_CELL(name, type, call)                                                                 \
    __global__ void name(const type *in, type *cell)                                               \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        call;                                                                                      \
    }

ONE_CELL(add_int, int, atomicAdd(&cell[i % 5], in[i]))
ONE_CELL(add_unsigned, unsigned, atomicAdd(&cell[i % 5], in[i]))
ONE_CELL(add_long, unsigned long long, atomicAdd(&cell[i % 5], in[i]))
ONE_CELL(add_float, float, atomicAdd(&cell[i % 5], in[i]))
ONE_CELL(add_double, double, atomicAdd(&cell[i % 5], in[i]))
ONE_CELL(sub_int, int, atomicSub(&cell[i % 5], in[i]))
ONE_CELL(sub_unsigned, unsigned, atomicSub(&cell[i % 5], in[i]))
ONE_CELL(min_int, int, atomicMin(&cell[i % 5], in[i]))
ONE_CELL(min_unsigned, unsigned, atomicMin(&cell[i % 5], in[i]))
ONE_CELL(min_long, long long, atomicMin(&cell[i % 5], in[i]))
ONE_CELL(max_int, int, atomicMax(&cell[i % 5], in[i]))
ONE_CELL(max_unsigned_long, unsigned long long, atomicMax(&cell[i % 5], in[i]))
ONE_CELL(and_int, int, atomicAnd(&cell[i % 5], in[i]))
ONE_CELL(or_unsigned, unsigned, atomicOr(&cell[i % 5], in[i]))
ONE_CELL(xor_long, unsigned long long, atomicXor(&cell[i % 5], in[i]))
ONE_CELL(inc_unsigned, unsigned, atomicInc(&cell[i % 5], 12u))
ONE_CELL(dec_unsigned, unsigned, atomicDec(&cell[i % 5], 6u))

__global__ void exchanged(const float *in, int *cell, int *sum, float *own)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int before = atomicExch(cell, 7);
    atomicAdd(sum, before);
    float kept = atomicExch(&own[i], in[i]);
    own[i] += kept;
}

__global__ void returned(unsigned *ticket, int *seen)
{
    seen[atomicAdd(ticket, 1u)] = 1;
}

__device__ float max_float(float *address, float value)
{
    int *bits = (int *)address;
    int before = *(volatile int *)bits, assumed;
    do {
        assumed = before;
        if (__int_as_float(assumed) >= value) {
            break;
        }
        before = atomicCAS(bits, assumed, __float_as_int(value));
    } while (before != assumed);
    return __int_as_float(before);
}

__global__ void by_cas(const float *in, float *most)
{
    max_float(most, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

__global__ void cas_of_widths(unsigned long long *wide, unsigned short *narrow)
{
    unsigned long long seen = 0, old;
    do {
        old = seen;
        seen = atomicCAS(wide, old, old + 3);
    } while (seen != old);
    unsigned short was = 0, expected;
    do {
        expected = was;
        was = atomicCAS(narrow, expected, (unsigned short)(expected + 1));
    } while (was != expected);
}
