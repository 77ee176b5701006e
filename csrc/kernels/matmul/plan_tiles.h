/* matmul: the plan of kernels that compute tiles. */
#ifndef GPUMEM_MATMUL_PLAN_TILES_H
#define GPUMEM_MATMUL_PLAN_TILES_H

#include "matmul/plan_size.h"

/* Tiles of a block of a row. */
int matmul_teams(int row);
/* Which factors warp_tiles copies by vectors. It transposes a b whose depth is contiguous as it
 * copies it, one by one. */
typedef enum matmul_vectors {
    MATMUL_NO_VECTORS,
    MATMUL_VECTORS_OF_A,
    MATMUL_VECTORS_OF_BOTH,
} matmul_vectors;

matmul_vectors matmul_vectors_of(const matmul_args *args);
/* Describes the call for a row of tiles; returns the model's time. */
double matmul_plan_tiles(int row, const gm_call *call, matmul_args *args);

#endif
