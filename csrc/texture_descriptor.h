/*
 * What a texture or surface object of a loaded kernel stands for on the simulator: the object is
 * the address of such a descriptor. Read by C and by the kernels.
 */
#ifndef GPUMEM_TEXTURE_DESCRIPTOR_H
#define GPUMEM_TEXTURE_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gm_texel_kind {
    GM_TEXEL_SIGNED,
    GM_TEXEL_UNSIGNED,
    GM_TEXEL_FLOAT,
} gm_texel_kind;

/* In the order of cudaTextureAddressMode. */
typedef enum gm_texture_address {
    GM_TEXTURE_WRAP,
    GM_TEXTURE_CLAMP,
    GM_TEXTURE_MIRROR,
    GM_TEXTURE_BORDER,
} gm_texture_address;

typedef struct gm_texture_descriptor {
    char *data;
    int64_t pitch, slice; /* bytes from row to row, and from layer to layer */
    int32_t size[3];      /* width, height, depth or layers, in elements; 1 where there is none */
    int32_t kind;         /* gm_texel_kind */
    int32_t channels;     /* 1, 2 or 4 */
    int32_t channel_bytes;
    int32_t address[3]; /* gm_texture_address */
    int32_t linear;     /* filtered between elements */
    int32_t to_float;   /* integers become numbers from 0 or -1 to 1 */
    int32_t normalised; /* coordinates go from 0 to 1 */
    float border[4];
} gm_texture_descriptor;

/* The error that CUDA too makes of these fields: what is wrong with them, or NULL. Fills in pitch
 * and slice where they are 0. */
const char *gm_texture_complete(gm_texture_descriptor *texture);

#ifdef __cplusplus
}
#endif

#endif
