/* Launch hooks of the rows in ladder.def that are more than one launch, and what these share. */
#ifndef GPUMEM_SGEMM_LAUNCHES_H
#define GPUMEM_SGEMM_LAUNCHES_H

#include "gpumem.h"
#include "sgemm/engine.h"

gm_status sgemm_cublas_launch(const gm_variant *variant, const gm_call *call, gm_plan *plan);
gm_status sgemm_launch_warp_tile_tma(const gm_variant *variant, const gm_call *call, gm_plan *plan);
gm_status sgemm_launch_stream_k(const gm_variant *variant, const gm_call *call, gm_plan *plan);
gm_status sgemm_launch_tf32x3(const gm_variant *variant, const gm_call *call, gm_plan *plan);
gm_status sgemm_launch_fp16x3(const gm_variant *variant, const gm_call *call, gm_plan *plan);
gm_status sgemm_launch_fp16x3_multicast(const gm_variant *variant, const gm_call *call,
                                        gm_plan *plan);

/* warp_tile_tma or tf32x3, whose kernels begin by asking whether it is their turn. */
gm_status sgemm_launch_in_turn(const gm_variant *variant, const gm_call *call,
                               const sgemm_turn *turn, gm_plan *plan);

/* A box in which the copy engine brings a part of a factor, of a stage or less. */
typedef struct sgemm_box {
    unsigned width, height; /* along the rows in memory, and across; 0: no such factors */
    bool swizzled;
} sgemm_box;

/* For factors whose lines are contiguous, [0], and whose depth is, [1]. */
typedef struct sgemm_boxes {
    sgemm_box a[2], b[2];
    sgemm_box a_of_both; /* for an A whose depth is contiguous as that of B is; else a[1] */
} sgemm_boxes;

extern const sgemm_boxes sgemm_warp_tile_tma_boxes;

/* Is B written out first? Else the engine takes it as it is. */
bool sgemm_packs_b(const sgemm_factor *a, const sgemm_factor *b);

/* Describes two factors to the engine, given as tensors without boxes. */
gm_status sgemm_encode(const sgemm_boxes *boxes, bool a_along_depth, bool b_along_depth,
                       gm_tensor tensors[2], const gm_call *call, sgemm_engine_args *args);

/* Describes both factors to the engine. Where it cannot take one as it is, that is written out
 * first, with the depth of A contiguous and the lines of B, into memory that the caller releases.
 */
gm_status sgemm_bring(const sgemm_boxes *boxes, const gm_call *call, sgemm_engine_args *args,
                      void *memory[2]);

/* The kernel for the layouts of the factors: the row's own, or one of its parts in the order of
 * sgemm.c. */
const gm_variant *sgemm_way(const gm_variant *row, const gm_variant *const *parts,
                            const sgemm_args *product);
extern const gm_variant *const sgemm_parts_warp_tile_tma[], *const sgemm_parts_stream_k[];

/* The faster one of warp_tile_tma and stream_k, and how long it takes, in units of the time in
 * which a busy multiprocessor computes a stage of a tile. */
typedef struct sgemm_choice {
    bool stream_k;
    double time;
} sgemm_choice;

enum { SGEMM_UNIT = 4530 /* cycles, at 116 products per cycle */ };

/* Does "auto" leave products of these sides to one of them? */
bool sgemm_is_for_the_engine(int64_t rows, int64_t columns, int64_t depth);
sgemm_choice sgemm_choose_by_engine(int64_t rows, int64_t columns, int64_t depth,
                                    int64_t multiprocessors);
double sgemm_shares_time(const sgemm_args *product, int64_t multiprocessors);
double sgemm_stream_k_time(const sgemm_args *product, int64_t multiprocessors);

/* A factor as the copy engine is told of it, without the boxes. */
gm_tensor sgemm_tensor(const sgemm_factor *x, int64_t depth);
/* The shares' sums go to memory that the caller releases. */
gm_status sgemm_share_out(const sgemm_args *asked, int64_t shares, const gm_call *call,
                          sgemm_engine_args *args, void **memory);
gm_status sgemm_sum_shares(const sgemm_args *asked, const sgemm_engine_args *args, int64_t shares,
                           const gm_call *call);
/* Releases what is not NULL. */
void sgemm_release(const gm_call *call, void *const *memory, int count);

/* The ladder's helpers; sgemm.c has the ladder. */
extern const gm_variant *const sgemm_helper_pack, *const sgemm_helper_add_shares;
extern const gm_variant *const sgemm_helper_zeros;
extern const gm_variant *const sgemm_helper_halves_along, *const sgemm_helper_halves_largest;
extern const gm_variant *const sgemm_helper_halves_across, *const sgemm_helper_halves_judge;

#endif
