/* permute: tiles of matrices, and the grid that counts them. */
#ifndef GPUMEM_PERMUTE_PLAN_GRID_H
#define GPUMEM_PERMUTE_PLAN_GRID_H

#include "permute/plan_layout.h"

typedef struct permute_tiling {
    int64_t across, down; /* of a matrix */
    int64_t bands;        /* into which those down are cut, all of one height */
    int64_t all;          /* of all matrices; 0 if a grid has no room for them */
} permute_tiling;

/* Tiles of so many columns and rows, of matrices along the axes 0 and `closest`. Tiles overlap by
 * `halo` rows. */
permute_tiling permute_tiling_of(const permute_layout *layout, int closest, int64_t columns,
                                 int64_t rows, int64_t halo);

void permute_fill_grid(const permute_tiling *tiles, const permute_layout *layout, int closest,
                       gm_plan *plan, permute_grid *grid);

#endif
