// Sorting: bitonic in shared memory, and one pass of a radix sort in a block.
__device__ inline void Comparator(unsigned int &keyA, unsigned int &valA, unsigned int &keyB,
                                  unsigned int &valB, unsigned int dir)
{
    if ((keyA > keyB) == dir) {
        unsigned int t;
        t = keyA;
        keyA = keyB;
        keyB = t;
        t = valA;
        valA = valB;
        valB = t;
    }
}

#define SHARED_SIZE_LIMIT 512U

__global__ void bitonicSortShared(unsigned int *d_DstKey, unsigned int *d_DstVal,
                                  const unsigned int *d_SrcKey, const unsigned int *d_SrcVal,
                                  unsigned int arrayLength, unsigned int dir)
{
    __shared__ unsigned int s_key[SHARED_SIZE_LIMIT];
    __shared__ unsigned int s_val[SHARED_SIZE_LIMIT];
    unsigned int base = blockIdx.x * SHARED_SIZE_LIMIT + threadIdx.x;
    s_key[threadIdx.x] = d_SrcKey[base];
    s_val[threadIdx.x] = d_SrcVal[base];
    s_key[threadIdx.x + SHARED_SIZE_LIMIT / 2] = d_SrcKey[base + SHARED_SIZE_LIMIT / 2];
    s_val[threadIdx.x + SHARED_SIZE_LIMIT / 2] = d_SrcVal[base + SHARED_SIZE_LIMIT / 2];

    for (unsigned int size = 2; size <= arrayLength; size <<= 1) {
        unsigned int ddd = dir ^ ((threadIdx.x & (size / 2)) != 0 && size < arrayLength);
        for (unsigned int stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned int pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            Comparator(s_key[pos], s_val[pos], s_key[pos + stride], s_val[pos + stride], ddd);
        }
    }
    __syncthreads();
    d_DstKey[base] = s_key[threadIdx.x];
    d_DstVal[base] = s_val[threadIdx.x];
    d_DstKey[base + SHARED_SIZE_LIMIT / 2] = s_key[threadIdx.x + SHARED_SIZE_LIMIT / 2];
    d_DstVal[base + SHARED_SIZE_LIMIT / 2] = s_val[threadIdx.x + SHARED_SIZE_LIMIT / 2];
}

// Sorts each block's keys by four bits, one bit at a time; also counts the digits.
template <int THREADS>
__global__ void radix_pass(const unsigned *keys_in, unsigned *keys_out, unsigned *digit_counts,
                           int shift)
{
    __shared__ unsigned keys[THREADS];
    __shared__ unsigned warp_zeros[THREADS / 32];
    __shared__ unsigned counts[16];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x < 16) {
        counts[threadIdx.x] = 0;
    }
    unsigned key = keys_in[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    atomicAdd(&counts[(key >> shift) & 15], 1);

    for (int bit = shift; bit < shift + 4; bit++) {
        bool one = (key >> bit) & 1;
        unsigned zeros = __ballot_sync(0xffffffff, !one);
        if (lane == 0) {
            warp_zeros[warp] = __popc(zeros);
        }
        __syncthreads();
        unsigned before = 0, all = 0;
        for (unsigned w = 0; w < THREADS / 32; w++) {
            if (w < warp) {
                before += warp_zeros[w];
            }
            all += warp_zeros[w];
        }
        unsigned rank = before + __popc(zeros & ((1u << lane) - 1));
        keys[one ? all + threadIdx.x - rank : rank] = key;
        __syncthreads();
        key = keys[threadIdx.x];
        __syncthreads();
    }
    keys_out[blockIdx.x * THREADS + threadIdx.x] = key;
    if (threadIdx.x < 16) {
        digit_counts[blockIdx.x * 16 + threadIdx.x] = counts[threadIdx.x];
    }
}

template __global__ void radix_pass<256>(const unsigned *, unsigned *, unsigned *, int);
