/*
 * What a thread knows of blocks: up to which moment their threads' actions are ordered before it.
 *
 * Views are sparse, as a thread learns of few blocks, and shared, as many threads learn the same:
 * they have users and are never changed. NULL is the view of one who knows nothing.
 */
#ifndef GPUMEM_SIM_VIEW_H
#define GPUMEM_SIM_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* Per thread of a block: actions at smaller ticks are known. */
typedef struct gm_ticks {
    int users;
    uint32_t of[];
} gm_ticks;

/* All intervals of the block before this one are known, and in this one what ticks say. */
typedef struct gm_block_view {
    int64_t block;
    uint32_t interval;
    gm_ticks *ticks;
} gm_block_view;

typedef struct gm_view {
    int users, count;
    gm_block_view list[]; /* in ascending order of blocks */
} gm_view;

/* A view of one block; takes `ticks` over. NULL when memory ran out. */
gm_view *gm_view_of_block(int64_t block, uint32_t interval, gm_ticks *ticks);
gm_view *gm_view_keep(gm_view *view);
void gm_view_drop(gm_view *view);

/* Adds to *to, which the caller uses, all that `from` knows. False when memory ran out. */
bool gm_view_join(gm_view **to, gm_view *from, int threads);

/* What the view knows of a block; NULL: nothing. */
const gm_block_view *gm_view_find(const gm_view *view, int64_t block);

#endif
