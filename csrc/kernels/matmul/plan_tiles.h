/* matmul: the plan of kernels that compute tiles. */
#ifndef GPUMEM_MATMUL_PLAN_TILES_H
#define GPUMEM_MATMUL_PLAN_TILES_H

#include "matmul/plan_size.h"

/* Tiles of a block of a row. */
int matmul_teams(int row);
/* Does warp_tiles copy vectors of a, and of both unless the depth of b is contiguous? */
bool matmul_has_vectors(const matmul_args *args);
/* Describes the call for a row of tiles; returns the model's time. */
double matmul_plan_tiles(int row, const gm_call *call, matmul_args *args);

#endif
