/* The texture unit on the simulator, as kernels use it through device.h. */
#ifndef GPUMEM_SIM_TEXTURE_H
#define GPUMEM_SIM_TEXTURE_H

#include "sim/lane.h"
#include "texture_object.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The filtered texture at these coordinates; whole coordinates are those of its elements. Not
 * counted as traffic: the layout of a texture and the contents of its cache are not known. */
GM_HIDDEN float gm_sim_texture_fetch(const gm_texture *texture, float x, float y);

#ifdef __cplusplus
}
#endif

#endif
