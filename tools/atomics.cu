/* The kernels of tools/measure_atomics.py: each thread makes `steps` atomic additions in a row. */

enum scopes { BLOCK, DEVICE, SYSTEM };

/* A thread's own sequence of pseudo-random numbers other than 0: Marsaglia's xorshift, from a seed
 * whose bits all depend on the thread. */
__device__ unsigned first_state(unsigned thread)
{
    unsigned h = (thread + 1) * 0x9e3779b1u;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return (h ^ h >> 16) | 1u;
}

__device__ unsigned next_state(unsigned state)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

template <typename number, int scope> __device__ number add(number *to, number value)
{
    if constexpr (scope == BLOCK) {
        return atomicAdd_block(to, value);
    } else if constexpr (scope == DEVICE) {
        return atomicAdd(to, value);
    } else {
        return atomicAdd_system(to, value);
    }
}

/* Places are `spacing` elements apart. With bits > 0 each addition goes to one of 2^bits places, in
 * a random order; with 0 all those of a thread go to one, which 2^shift threads have in common.
 * `nowhere` is NULL, which the compiler does not know: it cannot drop old values that are asked
 * for. One addition does not wait for the old value of another. */
template <typename number, int scope, bool returning>
__device__ void make_additions(number *out, number *nowhere, number value, int steps, int bits,
                               int shift, int spacing)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = first_state(thread);
    number seen = 0;

#pragma unroll 4
    for (int i = 0; i < steps; i++) {
        state = next_state(state);
        const unsigned place = bits > 0 ? state >> (32 - bits) : thread >> shift;
        number *to = out + (size_t)place * spacing;
        if constexpr (returning) {
            seen += add<number, scope>(to, value);
        } else {
            add<number, scope>(to, value);
        }
    }
    if (returning && nowhere) {
        *nowhere = seen;
    }
}

/* No templates: all kernels are compiled at once. */
#define KERNEL(name, number, scope, returning)                                                     \
    __global__ void name(number *out, number *nowhere, number value, int steps, int bits,          \
                         int shift, int spacing)                                                   \
    {                                                                                              \
        make_additions<number, scope, returning>(out, nowhere, value, steps, bits, shift,          \
                                                 spacing);                                         \
    }
#define KERNELS(type, number)                                                                      \
    KERNEL(type##_block, number, BLOCK, false)                                                     \
    KERNEL(type##_block_returns, number, BLOCK, true)                                              \
    KERNEL(type##_device, number, DEVICE, false)                                                   \
    KERNEL(type##_device_returns, number, DEVICE, true)                                            \
    KERNEL(type##_system, number, SYSTEM, false)                                                   \
    KERNEL(type##_system_returns, number, SYSTEM, true)

KERNELS(int32, int)
KERNELS(uint64, unsigned long long)
KERNELS(float32, float)
KERNELS(float64, double)
