/*
 * scatter_add / shared: sums per block in shared memory.
 *
 * Follows  reduction, whose additions all go to the L2, where those to one address queue.
 * Idea     a block adds in shared memory of its own, and then adds its sums to `out`: one atomic
 *          addition per element of `out` and block, however many were added to it.
 * Cost     `out` has to fit, and each block clears and adds all of it. There is one instruction for
 *          an addition of 32-bit integers in shared memory; for the others the compiler makes a
 *          loop that tries until no other thread came between. There neighbours with the same index
 *          are added up first, see runs.
 * Machine  ATOMS.ADD for 32-bit integers; ATOMS.CAST.SPIN in a loop for the others
 */
#include "scatter_add.h"

enum { UNROLL = 2 }; /* elements of a thread that are on their way at a time */

/* Has shared memory an instruction for the addition? */
template <typename number> struct is_instruction {
    static constexpr bool value = false;
};
template <> struct is_instruction<unsigned> {
    static constexpr bool value = true;
};

template <typename number, typename integer, bool checked>
GM_DEVICE void add(const scatter_add_args &a)
{
    GM_DYNAMIC_SHARED(number, sums);
    number *out = (number *)a.out;
    const int length = (int)a.length;

    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        sums[i] = 0;
    }
    __syncthreads();
    scatter_add_to<UNROLL, !is_instruction<number>::value, int, integer, checked>(a, sums);
    __syncthreads();
    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        const number sum = sums[i];
        if (sum != 0) { /* NaN as well */
            atomicAdd(&out[i], sum);
        }
    }
}

GM_KERNEL_BOUNDED(scatter_add_shared, scatter_add_args, SCATTER_ADD_THREADS, 2)
{
    SCATTER_ADD_BY_TYPE(add, a)
}
