/* Checks the descriptor of a texture or surface object. */
#include "texture_descriptor.h"

#include <stddef.h>

const char *gm_texture_complete(gm_texture_descriptor *texture)
{
    int64_t element = (int64_t)texture->channels * texture->channel_bytes;
    bool wraps = false;
    for (int i = 0; i < 3; i++) {
        if (texture->size[i] < 1) {
            return "the sizes of a texture are positive: 1 for a dimension that it lacks";
        }
        if (texture->address[i] < GM_TEXTURE_WRAP || texture->address[i] > GM_TEXTURE_BORDER) {
            return "the address mode is wrap, clamp, mirror or border";
        }
        wraps = wraps || (texture->size[i] > 1 && (texture->address[i] == GM_TEXTURE_WRAP ||
                                                   texture->address[i] == GM_TEXTURE_MIRROR));
    }
    if (!texture->data) {
        return "a texture needs memory";
    }
    if (texture->channels != 1 && texture->channels != 2 && texture->channels != 4) {
        return "an element has 1, 2 or 4 channels";
    }
    if (texture->kind == GM_TEXEL_FLOAT
            ? texture->channel_bytes != 4
            : texture->channel_bytes != 1 && texture->channel_bytes != 2 &&
                  texture->channel_bytes != 4) {
        return "a channel is a float of 32 bits or an integer of 8, 16 or 32";
    }
    if (texture->to_float && texture->kind != GM_TEXEL_FLOAT && texture->channel_bytes == 4) {
        return "only integers of 8 and 16 bits are read as normalised floats";
    }
    if (texture->linear && texture->kind != GM_TEXEL_FLOAT && !texture->to_float) {
        return "linear filtering needs elements that are read as floats";
    }
    if (wraps && !texture->normalised) {
        return "wrap and mirror need normalised coordinates";
    }
    texture->pitch = texture->pitch ? texture->pitch : texture->size[0] * element;
    texture->slice = texture->slice ? texture->slice : texture->size[1] * texture->pitch;
    return NULL;
}
