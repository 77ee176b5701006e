/* The texture unit on the simulator, as kernels use it through device.h. */
#ifndef GPUMEM_SIM_TEXTURE_H
#define GPUMEM_SIM_TEXTURE_H

#include "sim/lane.h"
#include "texture_object.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The texture, filtered, at these coordinates; its elements have whole ones. Not counted as
 * traffic: where elements lie in a texture, and what its cache holds, is not known. */
GM_HIDDEN float gm_sim_texture_fetch(const gm_texture *texture, float x, float y);

#ifdef __cplusplus
}
#endif

#endif
