/*
 * The texture unit: clamped coordinates, and weights with 8 fractional bits, as the hardware's
 * have.
 */
#include "sim/texture.h"

#include <math.h>

enum { STEPS = 256 };

typedef struct axis {
    int64_t low, high; /* the elements on either side, clamped */
    float share;       /* weight of the high one */
} axis;

static axis find(float at, int size)
{
    /* Coordinates far outside all clamp to the edge; where NaN goes does not matter. */
    float clamped = at > -1 ? (at < (float)size ? at : (float)size) : -1;
    float steps = floorf(clamped * STEPS + 0.5f);
    int64_t low = (int64_t)floorf(steps / STEPS), last = size - 1;
    axis found = {.low = low, .high = low + 1, .share = steps / STEPS - (float)low};
    found.low = found.low < 0 ? 0 : found.low > last ? last : found.low;
    found.high = found.high < 0 ? 0 : found.high > last ? last : found.high;
    return found;
}

float gm_sim_texture_fetch(const gm_texture *texture, float x, float y)
{
    axis across = find(x, texture->width), down = find(y, texture->height);
    const float *upper = (const float *)(texture->data + down.low * texture->pitch);
    const float *lower = (const float *)(texture->data + down.high * texture->pitch);
    float left = 1 - across.share, top = 1 - down.share;
    return top * (left * upper[across.low] + across.share * upper[across.high]) +
           down.share * (left * lower[across.low] + across.share * lower[across.high]);
}
