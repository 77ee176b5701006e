/*
 * matmul / thin: a matrix with up to four vectors, at the speed of memory.
 *
 * Follows  naive.
 * Idea     the matrix is read once, in vectors of four, and each number serves all right-hand
 *          sides, whose sums are in registers. A multiprocessor needs 32 KB of loads on their way
 *          at any time: the threads load in batches of 8 x 4 numbers, and no branch stands between
 *          the loads of a batch, because one that is not taken keeps the next load waiting for the
 *          last. What differs by layout is a template's argument.
 *          Where the depth is contiguous a warp has four lines, and its lanes the steps. Where the
 *          lines are, a warp has 128 of them (or 64, 32 or 16), and other warps have other steps.
 * Spread   lines that are no multiple of four long begin anywhere, but every fourth one alike. A
 *          warp has such four: their vectors meet the same steps of the right-hand sides. What is
 *          before and after a line's vectors, up to six numbers, one load fetches for all four.
 * L2       a matrix of up to four times the L2 is loaded with the hint to evict it first: what
 *          other kernels left there need not be written back to make room.
 * Shares   where there are too few lines for all multiprocessors, several blocks share the depth.
 *          If they are a cluster, each sends its sums to the shared memory of the first, which
 *          adds them, always in the same order: otherwise that takes a launch, of add_shares. The
 *          mbarrier of the first block knows how many bytes will arrive, so that nobody needs a
 *          fence.
 * Machine  LDG.E.128, STAS (st.async.shared::cluster)
 *
 *     depth contiguous                       lines contiguous
 *     line 0   lanes 0 1 2 ... 31  0 1       step 0     warp 0, lanes 0 ... 31     128 lines
 *     line 1   lanes 0 1 2 ... 31  0 1       step 1     warp 1
 *     line 2   ...                           step 8     warp 0
 */
#include "thin_depth.h"
#include "thin_lines.h"

/* What is contiguous. */
enum { DEPTH_RUNS, DEPTH_SPREAD, LINES_RUN };

template <int count, int layout, bool once>
GM_DEVICE void thin_product(const matmul_args &a, thin_sums<count> &shared)
{
    const unsigned blocks = (unsigned)a.tiles_y;
    const unsigned product = blockIdx.x / blocks, block = blockIdx.x % blocks;
    const int64_t begin = (int64_t)block * a.tile_lines;
    constexpr bool spread = layout == DEPTH_SPREAD;
    const int64_t exist = spread ? a.tile_lines : a.a.lines - begin;
    const block_lines lines = {begin, (int)min(exist, (int64_t)a.tile_lines), (int)a.b.lines,
                               spread};
    const int64_t first = blockIdx.y * a.share, depth = min(a.depth - first, a.share);
    matmul_factor left, right;
#if GM_HAS_CLUSTERS
    if (a.cluster > 0) {
        expect_blocks(a, lines, shared);
    }
#endif
    gm_wait_for_previous();
    gm_let_next_start();
    matmul_go_to(a, product, &left, &right);
    float *out = a.out + blockIdx.y * a.partial + product * left.lines * right.lines;
    if (layout != LINES_RUN) {
        by_depth<count, once, spread>(a, left, right, lines, first, depth, out, shared);
    } else {
        by_lines<count, once>(a, left, right, lines, first, depth, out, shared);
    }
}

/* A kernel for each layout of the matrix, and for each hint: one with all of them is so long that
 * calls wait for its instructions. */
#define WAY(name, count, layout, once)                                                             \
    GM_KERNEL_BOUNDED(matmul_thin_##name, matmul_args, MATMUL_THREADS,                             \
                      MATMUL_THIN_RESIDENT((layout) == DEPTH_SPREAD, count))                       \
    {                                                                                              \
        __shared__ __align__(16) thin_sums<count> shared;                                          \
        thin_product<count, layout, once>(a, shared);                                              \
    }
#define WAYS(name, count)                                                                          \
    WAY(name, count, DEPTH_RUNS, false)                                                            \
    WAY(name##_once, count, DEPTH_RUNS, true)                                                      \
    WAY(name##_spread, count, DEPTH_SPREAD, false)                                                 \
    WAY(name##_spread_once, count, DEPTH_SPREAD, true)                                             \
    WAY(name##_lines, count, LINES_RUN, false)                                                     \
    WAY(name##_lines_once, count, LINES_RUN, true)
WAYS(one, 1)
WAYS(two, 2)
WAYS(four, 4)
