/*
 * What the texture unit does with a descriptor, by the rules of the CUDA programming guide. Weights
 * have 8 fractional bits. Not counted as traffic: the layout of a texture and the contents of its
 * cache are not known.
 */
#ifndef GPUMEM_CUDA_TEXTURE_SAMPLING_H
#define GPUMEM_CUDA_TEXTURE_SAMPLING_H

#include "sim/cuda/calls.h"
#include "texture_descriptor.h"

/* One element: four channels, all of one kind. */
typedef struct gm_texel {
    union {
        float real[4];
        int64_t whole[4];
    };
    bool is_real;
} gm_texel;

/* Where one coordinate falls: the elements on either side, or -1 for the border colour. */
typedef struct gm_texture_axis {
    int64_t low, high;
    float share; /* weight of the high one */
} gm_texture_axis;

GM_STEP int64_t gm_texture_index(int64_t at, int64_t size, int32_t address)
{
    switch (address) {
    case GM_TEXTURE_WRAP: return (at % size + size) % size;
    case GM_TEXTURE_MIRROR:
        at = (at % (2 * size) + 2 * size) % (2 * size);
        return at < size ? at : 2 * size - 1 - at;
    case GM_TEXTURE_BORDER: return at < 0 || at >= size ? -1 : at;
    default: return at < 0 ? 0 : at >= size ? size - 1 : at;
    }
}

GM_STEP gm_texture_axis gm_texture_find(const gm_texture_descriptor *texture, int dimension,
                                        float coordinate)
{
    int64_t size = texture->size[dimension];
    int32_t address = texture->address[dimension];
    float at = texture->normalised ? coordinate * (float)size : coordinate;
    /* Beyond this it makes no difference, but would overflow; where NaN goes does not matter. */
    const float far = 1 << 30;
    at = at > -far ? (at < far ? at : far) : -far;
    if (!texture->linear) {
        int64_t found = gm_texture_index((int64_t)__builtin_floorf(at), size, address);
        return {found, found, 0};
    }
    int64_t steps = (int64_t)__builtin_floor(((double)at - 0.5) * 256 + 0.5);
    int64_t low = steps >> 8;
    return {gm_texture_index(low, size, address), gm_texture_index(low + 1, size, address),
            (float)(steps & 255) / 256};
}

template <typename type> GM_STEP type gm_texture_bytes(const char *from)
{
    type value;
    __builtin_memcpy(&value, from, sizeof value);
    return value;
}

GM_STEP int64_t gm_texture_whole(const gm_texture_descriptor *texture, const char *from)
{
    bool is_signed = texture->kind == GM_TEXEL_SIGNED;
    switch (texture->channel_bytes) {
    case 1: return is_signed ? gm_texture_bytes<int8_t>(from) : gm_texture_bytes<uint8_t>(from);
    case 2: return is_signed ? gm_texture_bytes<int16_t>(from) : gm_texture_bytes<uint16_t>(from);
    default: return is_signed ? gm_texture_bytes<int32_t>(from) : gm_texture_bytes<uint32_t>(from);
    }
}

/* The element at these indices, of which -1 is outside. */
GM_STEP gm_texel gm_texture_element(const gm_texture_descriptor *texture, int64_t x, int64_t y,
                                    int64_t z)
{
    gm_texel texel = {};
    texel.is_real = texture->kind == GM_TEXEL_FLOAT || texture->to_float;
    bool outside = x < 0 || y < 0 || z < 0;
    const char *from = texture->data + z * texture->slice + y * texture->pitch +
                       x * texture->channels * texture->channel_bytes;
    for (int c = 0; c < texture->channels; c++, from += texture->channel_bytes) {
        if (outside && texel.is_real) {
            texel.real[c] = texture->border[c];
        } else if (outside) {
            texel.whole[c] = (int64_t)texture->border[c];
        } else if (texture->kind == GM_TEXEL_FLOAT) {
            texel.real[c] = gm_texture_bytes<float>(from);
        } else if (texture->to_float) {
            int bits = 8 * texture->channel_bytes - (texture->kind == GM_TEXEL_SIGNED);
            float share = (float)gm_texture_whole(texture, from) / (float)((1 << bits) - 1);
            texel.real[c] = share < -1 ? -1 : share;
        } else {
            texel.whole[c] = gm_texture_whole(texture, from);
        }
    }
    return texel;
}

/* Adds a row of up to two elements with a weight. */
GM_STEP void gm_texture_add_row(const gm_texture_descriptor *texture, gm_texel *sum,
                                gm_texture_axis x, int64_t y, int64_t z, float weight)
{
    gm_texel low = gm_texture_element(texture, x.low, y, z);
    gm_texel high = gm_texture_element(texture, x.high, y, z);
    for (int c = 0; c < texture->channels; c++) {
        sum->real[c] += weight * ((1 - x.share) * low.real[c] + x.share * high.real[c]);
    }
}

/* At these coordinates; a dimension that the fetch does not have is 0, and `layer` is not filtered
 * (-1: none). */
GM_STEP gm_texel gm_texture_sample(const gm_texture_descriptor *texture, int dimensions, float x,
                                   float y, float z, int64_t layer)
{
    gm_texture_axis zero = {0, 0, 0}, across = gm_texture_find(texture, 0, x);
    gm_texture_axis down = dimensions > 1 ? gm_texture_find(texture, 1, y) : zero;
    gm_texture_axis deep = dimensions > 2 ? gm_texture_find(texture, 2, z) : zero;
    if (layer >= 0) {
        deep.low = deep.high = layer < texture->size[2] ? layer : texture->size[2] - 1;
    }
    if (!texture->linear) {
        return gm_texture_element(texture, across.low, down.low, deep.low);
    }
    gm_texel sum = {};
    sum.is_real = true;
    float top = 1 - down.share, front = 1 - deep.share;
    gm_texture_add_row(texture, &sum, across, down.low, deep.low, front * top);
    gm_texture_add_row(texture, &sum, across, down.high, deep.low, front * down.share);
    if (deep.share > 0) {
        gm_texture_add_row(texture, &sum, across, down.low, deep.high, deep.share * top);
        gm_texture_add_row(texture, &sum, across, down.high, deep.high, deep.share * down.share);
    }
    return sum;
}

#endif
