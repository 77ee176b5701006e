/* The tensor copy engine on the simulator, as kernels/tensor.h uses it. */
#ifndef GPUMEM_SIM_TENSOR_H
#define GPUMEM_SIM_TENSOR_H

#include <stdint.h>

#include "sim/lane.h"
#include "tensor_map.h"

#ifdef __cplusplus
extern "C" {
#else
#include "gpumem.h"

gm_status gm_sim_tensor_map(const gm_tensor *tensor, gm_tensor_map *map);
#endif

/* The box whose first element is (x, y). Its parts outside the matrix are read as zero and not
 * written. */
GM_HIDDEN void gm_sim_tensor_load(void *shared, const gm_tensor_map *map, int x, int y,
                                  uint64_t *barrier, const char *file, int line);
/* The same in matrix z of a stack; of one that does not exist all is outside. */
GM_HIDDEN void gm_sim_tensor_load_plane(void *shared, const gm_tensor_map *map, int x, int y, int z,
                                        uint64_t *barrier, const char *file, int line);
GM_HIDDEN void gm_sim_tensor_store(const gm_tensor_map *map, int x, int y, const void *shared,
                                   const char *file, int line);

#ifdef __cplusplus
}
#endif

#endif
