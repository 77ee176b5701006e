/* Cooperative groups: blocks, and groups of lanes of one warp. Reductions and scans are in
 * group_reduce.h, grids and clusters in group_grid.h. */
#ifndef GPUMEM_CUDA_COOPERATIVE_GROUPS_H
#define GPUMEM_CUDA_COOPERATIVE_GROUPS_H

#include "sim/cuda/vectors.h"
#include "sim/cuda/warp.h"

/* The lane of the group's member of this rank. */
static inline unsigned gm_lane_of_rank(unsigned mask, unsigned rank)
{
    for (; rank > 0 && mask; rank--) {
        mask &= mask - 1;
    }
    return mask ? (unsigned)__builtin_ctz(mask) : 32;
}

/* The bits of `lanes` at the places of the mask's bits, side by side. */
static inline unsigned gm_pack_lanes(unsigned mask, unsigned lanes)
{
    unsigned packed = 0;
    for (unsigned rank = 0; mask; mask &= mask - 1, rank++) {
        packed |= (lanes >> __builtin_ctz(mask) & 1) << rank;
    }
    return packed;
}

static inline unsigned gm_rank_of_lane(unsigned mask, unsigned lane)
{
    return (unsigned)__builtin_popcount(mask & gm_lanes_below(lane));
}

namespace cooperative_groups {

/* Any group: all threads of the block, or the lanes of a mask. */
class thread_group {
  public:
    typedef unsigned arrival_token;

    __forceinline__ void sync(GM_PLACE) const
    {
        if (gm_whole_block) {
            gm_sim_barrier(file, line);
        } else {
            gm_sim_exchange(gm_mask, 0, file, line);
        }
    }

    __forceinline__ unsigned long long size() const
    {
        return gm_whole_block ? gm_block_threads() : (unsigned)__builtin_popcount(gm_mask);
    }

    __forceinline__ unsigned long long num_threads() const
    {
        return size();
    }

    __forceinline__ unsigned long long thread_rank() const
    {
        return gm_whole_block ? gm_thread_number() : gm_rank_of_lane(gm_mask, gm_sim_lane());
    }

    static __forceinline__ bool is_valid()
    {
        return true;
    }

    /* How the other groups are made; no part of CUDA's interface. */
    __forceinline__ explicit thread_group(unsigned mask, bool whole_block = false)
        : gm_mask(mask), gm_whole_block(whole_block)
    {
    }

    __forceinline__ unsigned gm_lanes() const
    {
        return gm_mask;
    }

  protected:
    unsigned gm_mask;
    bool gm_whole_block;
};

class thread_block : public thread_group {
  public:
    __forceinline__ thread_block() : thread_group(0, true)
    {
    }

    static __forceinline__ void sync(GM_PLACE)
    {
        gm_sim_barrier(file, line);
    }

    /* The wait is a barrier of all: it orders more than on a device. */
    static __forceinline__ arrival_token barrier_arrive()
    {
        return 0;
    }

    static __forceinline__ void barrier_wait(arrival_token &&, GM_PLACE)
    {
        gm_sim_barrier(file, line);
    }

    static __forceinline__ unsigned thread_rank()
    {
        return gm_thread_number();
    }

    static __forceinline__ unsigned size()
    {
        return gm_block_threads();
    }

    static __forceinline__ unsigned num_threads()
    {
        return gm_block_threads();
    }

    static __forceinline__ dim3 group_index()
    {
        return blockIdx;
    }

    static __forceinline__ dim3 thread_index()
    {
        return threadIdx;
    }

    static __forceinline__ dim3 group_dim()
    {
        return blockDim;
    }

    static __forceinline__ dim3 dim_threads()
    {
        return blockDim;
    }
};

static __forceinline__ thread_block this_thread_block()
{
    return thread_block();
}

/* Memory for tiles of several warps, which are refused. */
template <unsigned threads = 1024> struct block_tile_memory {
};

template <unsigned threads>
static __forceinline__ thread_block this_thread_block(block_tile_memory<threads> &)
{
    return thread_block();
}

/* ---- groups of lanes -------------------------------------------------------------------- */

/* What tiles and coalesced groups share. */
class gm_lane_group : public thread_group {
  public:
    __forceinline__ gm_lane_group(unsigned mask, unsigned meta_rank, unsigned meta_size)
        : thread_group(mask), gm_meta_rank(meta_rank), gm_meta_size(meta_size)
    {
    }

    __forceinline__ void sync(GM_PLACE) const
    {
        gm_sim_exchange(gm_mask, 0, file, line);
    }

    __forceinline__ unsigned size() const
    {
        return (unsigned)__builtin_popcount(gm_mask);
    }

    __forceinline__ unsigned num_threads() const
    {
        return size();
    }

    __forceinline__ unsigned thread_rank() const
    {
        return gm_rank_of_lane(gm_mask, gm_sim_lane());
    }

    __forceinline__ unsigned meta_group_rank() const
    {
        return gm_meta_rank;
    }

    __forceinline__ unsigned meta_group_size() const
    {
        return gm_meta_size;
    }

    __forceinline__ int any(int predicate, GM_PLACE) const
    {
        return __any_sync(gm_mask, predicate, file, line);
    }

    __forceinline__ int all(int predicate, GM_PLACE) const
    {
        return __all_sync(gm_mask, predicate, file, line);
    }

    __forceinline__ unsigned ballot(int predicate, GM_PLACE) const
    {
        return gm_pack_lanes(gm_mask, __ballot_sync(gm_mask, predicate, file, line));
    }

    template <typename type> __forceinline__ unsigned match_any(type value, GM_PLACE) const
    {
        return gm_pack_lanes(gm_mask, __match_any_sync(gm_mask, value, file, line));
    }

    template <typename type>
    __forceinline__ unsigned match_all(type value, int &all, GM_PLACE) const
    {
        return gm_pack_lanes(gm_mask, __match_all_sync(gm_mask, value, &all, file, line));
    }

  protected:
    unsigned gm_meta_rank, gm_meta_size;
};

/* The lanes that are at this place together, or a part of a group with neither order nor size
 * known in advance. */
class coalesced_group : public gm_lane_group {
  public:
    __forceinline__ explicit coalesced_group(unsigned mask, unsigned meta_rank = 0,
                                             unsigned meta_size = 1)
        : gm_lane_group(mask, meta_rank, meta_size)
    {
    }

    template <typename type> __forceinline__ type shfl(type value, unsigned rank, GM_PLACE) const
    {
        unsigned source = gm_lane_of_rank(gm_mask, rank);
        if (source > 31) {
            gm_fail_source(file, line);
        }
        return gm_shuffle(gm_mask, value, source, file, line);
    }

    template <typename type> __forceinline__ type shfl_up(type value, int delta, GM_PLACE) const
    {
        int rank = (int)thread_rank() - delta;
        unsigned source = rank < 0 ? gm_sim_lane() : gm_lane_of_rank(gm_mask, (unsigned)rank);
        return gm_shuffle(gm_mask, value, source, file, line);
    }

    template <typename type> __forceinline__ type shfl_down(type value, int delta, GM_PLACE) const
    {
        unsigned source = gm_lane_of_rank(gm_mask, thread_rank() + (unsigned)delta);
        return gm_shuffle(gm_mask, value, source > 31 ? gm_sim_lane() : source, file, line);
    }
};

static __forceinline__ coalesced_group coalesced_threads(GM_PLACE)
{
    return coalesced_group(gm_sim_active_lanes(file, line));
}

template <unsigned Size, typename Parent = void> class thread_block_tile : public gm_lane_group {
    static_assert(Size > 0 && (Size & (Size - 1)) == 0, "the size of a tile is a power of two");
    static_assert(Size <= 32,
                  "the simulator has no tiles of more than 32 threads: use thread_block "
                  "or tiles of a warp");

  public:
    /* From a tile of the same size of any parent. */
    template <typename Other>
    __forceinline__ thread_block_tile(const thread_block_tile<Size, Other> &other)
        : gm_lane_group(other)
    {
    }

    __forceinline__ thread_block_tile(unsigned meta_rank, unsigned meta_size)
        : gm_lane_group(gm_lanes_below(Size) << (gm_sim_lane() & ~(Size - 1)), meta_rank, meta_size)
    {
    }

    static constexpr unsigned size()
    {
        return Size;
    }

    static constexpr unsigned num_threads()
    {
        return Size;
    }

    static __forceinline__ unsigned thread_rank()
    {
        return gm_sim_lane() & (Size - 1);
    }

    template <typename type> __forceinline__ type shfl(type value, int rank, GM_PLACE) const
    {
        return gm_shuffle(gm_mask, value, gm_source_index(gm_mask, rank, Size, file, line), file,
                          line);
    }

    template <typename type>
    __forceinline__ type shfl_up(type value, unsigned delta, GM_PLACE) const
    {
        return gm_shuffle(gm_mask, value, gm_source_up(gm_mask, delta, Size, file, line), file,
                          line);
    }

    template <typename type>
    __forceinline__ type shfl_down(type value, unsigned delta, GM_PLACE) const
    {
        return gm_shuffle(gm_mask, value, gm_source_down(gm_mask, delta, Size, file, line), file,
                          line);
    }

    template <typename type>
    __forceinline__ type shfl_xor(type value, unsigned lanes, GM_PLACE) const
    {
        return gm_shuffle(gm_mask, value, gm_source_xor(gm_mask, (int)lanes, Size, file, line),
                          file, line);
    }
};

/* ---- partitions ------------------------------------------------------------------------- */

template <unsigned Size>
static __forceinline__ thread_block_tile<Size, thread_block> tiled_partition(const thread_block &)
{
    return {gm_thread_number() / Size, (gm_block_threads() + Size - 1) / Size};
}

template <unsigned Size, unsigned Whole, typename Parent>
static __forceinline__ thread_block_tile<Size, thread_block_tile<Whole, Parent>> tiled_partition(
    const thread_block_tile<Whole, Parent> &parent)
{
    static_assert(Size < Whole, "a tile is smaller than what it is a part of");
    return {parent.thread_rank() / Size, Whole / Size};
}

/* A part of this many threads, by rank, of the lanes in a mask. */
static inline unsigned gm_part_of(unsigned mask, unsigned size)
{
    unsigned first = gm_rank_of_lane(mask, gm_sim_lane()) / size * size, part = 0;
    for (unsigned rank = first; rank < first + size; rank++) {
        unsigned lane = gm_lane_of_rank(mask, rank);
        part |= lane < 32 ? 1u << lane : 0;
    }
    return part;
}

static __forceinline__ coalesced_group tiled_partition(const coalesced_group &parent, unsigned size)
{
    return coalesced_group(gm_part_of(parent.gm_lanes(), size), parent.thread_rank() / size,
                           (parent.size() + size - 1) / size);
}

static inline thread_group tiled_partition(const thread_group &parent, unsigned size, GM_PLACE)
{
    if (size == 0 || (size & (size - 1)) != 0 || size > 32) {
        gm_sim_fault(file, line, "tiled_partition takes a power of two up to 32");
    }
    return thread_group(gm_part_of(parent.gm_lanes() ? parent.gm_lanes() : ~0u, size));
}

static inline coalesced_group binary_partition(const gm_lane_group &group, bool predicate, GM_PLACE)
{
    unsigned all = group.gm_lanes() & gm_lanes_present();
    unsigned yes = __ballot_sync(group.gm_lanes(), predicate, file, line);
    if (yes == 0 || yes == all) {
        return coalesced_group(all);
    }
    return coalesced_group(predicate ? yes : all & ~yes, predicate, 2);
}

template <typename type>
static inline coalesced_group labeled_partition(const gm_lane_group &group, type label, GM_PLACE)
{
    unsigned mine = __match_any_sync(group.gm_lanes(), label, file, line);
    unsigned leader = (unsigned)__builtin_ctz(mine);
    unsigned leaders = __ballot_sync(group.gm_lanes(), leader == gm_sim_lane(), file, line);
    return coalesced_group(mine, gm_rank_of_lane(leaders, leader),
                           (unsigned)__builtin_popcount(leaders));
}

/* ---- functions of any group ------------------------------------------------------------- */

template <typename group> static __forceinline__ void sync(const group &threads, GM_PLACE)
{
    threads.sync(file, line);
}

template <typename group> static __forceinline__ auto thread_rank(const group &threads)
{
    return threads.thread_rank();
}

template <typename group> static __forceinline__ auto group_size(const group &threads)
{
    return threads.size();
}

/* The first thread of the group calls the function. */
template <typename group, typename function, typename... types>
static __forceinline__ void invoke_one(const group &threads, function &&call, types &&...arguments)
{
    if (threads.thread_rank() == 0) {
        static_cast<function &&>(call)(static_cast<types &&>(arguments)...);
    }
}

template <typename function, typename... types>
static __forceinline__ auto invoke_one_broadcast(const gm_lane_group &threads, function &&call,
                                                 types &&...arguments)
{
    decltype(call(static_cast<types &&>(arguments)...)) result{};
    if (threads.thread_rank() == 0) {
        result = static_cast<function &&>(call)(static_cast<types &&>(arguments)...);
    }
    return gm_shuffle(threads.gm_lanes(), result, (unsigned)__builtin_ctz(threads.gm_lanes()),
                      __builtin_FILE(), __builtin_LINE());
}

} // namespace cooperative_groups

#endif
