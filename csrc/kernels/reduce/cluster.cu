/*
 * reduce / cluster: one cluster of blocks, whose sums meet in the shared memory of the first.
 *
 * Follows  last_block, which takes two launches, and after its loads three trips to global memory:
 *          to the sums, the counter and the sums again. For a small array these take longer than
 *          the loads, and so do the two of two_pass.
 * Idea     the blocks of a cluster start together and reach each other's shared memory. Each sends
 *          its sum to the first block, whose mbarrier knows how many bytes will arrive. That block
 *          adds them in the order of the blocks: one launch, no memory, the same bits each time.
 * Loads    a warp takes chunks of 4 KiB, with eight loads of 16 bytes in flight per thread, and
 *          neighbouring chunks go to different blocks. There are as many warps as there are chunks,
 *          so that in a small array no thread loads twice.
 * Blocks   16, where the device has so large clusters for this kernel, or 8.
 * Cost     16 multiprocessors read what all of them could: a larger array takes longer. An array
 *          that one block reads as fast needs no cluster, and has none.
 * Machine  LDG.E.128, STAS (st.async.shared::cluster)
 */
#include "reduce.h"

#include "cluster_sums.h"

/* This thread's share of `count` vectors. What the last chunk lacks is loaded from its last vector,
 * and not added: one loop for all chunks is less code to fetch, which takes its time where a kernel
 * runs so briefly, and loads without conditions follow each other. */
template <typename number, typename vector>
GM_DEVICE number add_chunks(const vector *in, int64_t count)
{
    enum { LOADS = REDUCE_CHUNK_LOADS, CHUNK = LOADS * 32 };
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    const int64_t first = ((int64_t)warp * gridDim.x + blockIdx.x) * CHUNK + lane;
    number sum = 0;

#pragma unroll 1
    for (int64_t at = first; at < count; at += (int64_t)warps * gridDim.x * CHUNK) {
        const vector *from = in + at;
        const int left = (int)min(count - at, (int64_t)CHUNK);
        vector v[LOADS];
        number part[LOADS];
        gm_settle(from);
#pragma unroll
        for (int k = 0; k < LOADS; k++) {
            v[k] = __ldcs(&from[min(k * 32, left - 1)]);
        }
#pragma unroll
        for (int k = 0; k < LOADS; k++) {
            part[k] = k * 32 < left ? reduce_vector(v[k]) : (number)0;
        }
#pragma unroll
        for (int apart = LOADS / 2; apart > 0; apart /= 2) {
#pragma unroll
            for (int k = 0; k < apart; k++) {
                part[k] += part[k + apart];
            }
        }
        sum += part[0];
    }
    return sum;
}

/* This thread's share of the array. The few elements in front of the vectors and behind them are
 * the first block's, a thread each, which loads its own before any vectors arrive. */
template <typename number, typename vector> GM_DEVICE number add_share(const reduce_args &a)
{
    const number *in = (const number *)a.in;
    const reduce_parts parts = reduce_split<number, vector>(a);
    const int64_t place =
        threadIdx.x < parts.front ? threadIdx.x : threadIdx.x + parts.rear - parts.front;
    const number single = blockIdx.x == 0 && place < a.count ? in[place] : (number)0;
    return add_chunks<number, vector>((const vector *)(in + parts.front), parts.vectors) + single;
}

/* The sum over a block of any number of warps, in thread 0. */
template <typename number> GM_DEVICE number add_warps(number sum)
{
    __shared__ number of_warp[REDUCE_MOST_THREADS / 32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    sum = gm_warp_sum(sum);
    if (lane == 0) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    return warp == 0 ? gm_warp_sum(lane < warps ? of_warp[lane] : (number)0) : sum;
}

#if GM_HAS_CLUSTERS
/* From the sum of each block, in its thread 0, that of all, in thread 0 of the first block. No
 * other block is needed once it has sent. */
template <typename number>
GM_DEVICE number add_blocks(gm_cluster_sums<number, 1> &sums, number of_block)
{
    gm_cluster_wait();
    if (threadIdx.x == 0) {
        gm_cluster_sums_send(sums, 0, of_block, 0);
    }
    if (blockIdx.x > 0 || threadIdx.x > 0) {
        return 0;
    }
    gm_cluster_sums_wait(sums, 0);
    number sum = sums.of_block[0][0];
#pragma unroll
    for (int i = 1; i < CLUSTER_MOST; i++) {
        sum += i < (int)gridDim.x ? sums.of_block[0][i] : (number)0;
    }
    return sum;
}
#endif

template <typename number, typename vector> GM_DEVICE void add_in_cluster(const reduce_args &a)
{
#if GM_HAS_CLUSTERS
    __shared__ gm_cluster_sums<number, 1> sums;
    if (gridDim.x > 1) {
        gm_cluster_sums_open(sums);
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            gm_cluster_sums_expect(sums, 0);
        }
    }
#endif
    gm_wait_for_previous();
    number sum = add_warps(add_share<number, vector>(a));
#if GM_HAS_CLUSTERS
    if (gridDim.x > 1) {
        sum = add_blocks(sums, sum);
    }
#endif
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *(number *)a.out = sum;
    }
}

GM_KERNEL_BOUNDED(reduce_cluster, reduce_args, REDUCE_MOST_THREADS, 1)
{
    REDUCE_BY_TYPE(add_in_cluster, a)
}
