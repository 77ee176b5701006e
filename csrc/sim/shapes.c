/* Shapes of requests: whether a step repeats the one that it had, and if not, what the new one is.
 */
#include "sim/shapes.h"

#include <string.h>

/* Are the addresses this far from the first? All 32 at once, so that the compiler makes a vector
 * loop of it. */
static inline bool are_alike(const uintptr_t *address, const uintptr_t *offset, int lanes)
{
    const uintptr_t first = address[0];
    uintptr_t differ = 0;
    if (lanes == GM_WARP) {
        for (int i = 0; i < GM_WARP; i++) {
            differ |= (address[i] - first) ^ offset[i];
        }
        return !differ;
    }
    for (int i = 0; i < lanes; i++) {
        differ |= (address[i] - first) ^ offset[i];
    }
    return !differ;
}

static void measure(gm_shape *shape, const uintptr_t *address)
{
    uintptr_t begin = address[0], end = begin + shape->bytes;
    bool gapless = true;
    shape->offset[0] = 0;
    for (int i = 1; i < shape->lanes; i++) {
        uintptr_t first = address[i], past = first + shape->bytes;
        shape->offset[i] = first - address[0];
        gapless &= first >= begin && first <= end;
        begin = first < begin ? first : begin;
        end = past > end ? past : end;
    }
    shape->low = begin - address[0];
    shape->length = end - begin;
    shape->gapless = gapless;
}

static void find_words(gm_shape *shape)
{
    uintptr_t low = shape->bytes;
    int words = 0;
    shape->words = 0;
    for (int i = 0; i < shape->lanes; i++) {
        low |= shape->offset[i] - shape->low;
    }
    if (low % 4 != 0 || shape->length > 64 * 4) {
        return;
    }
    for (int i = 0; i < shape->lanes; i++) {
        uint64_t own = shape->bytes < 64 * 4 ? (UINT64_C(1) << shape->bytes / 4) - 1 : ~UINT64_C(0);
        shape->words |= own << (shape->offset[i] - shape->low) / 4;
    }
    for (uint64_t rest = shape->words; rest; rest &= rest - 1) {
        words++;
    }
    shape->apart = (uint32_t)words == (uint32_t)shape->lanes * shape->bytes / 4;
}

static uint32_t mask_of(const gm_warp_stream *stream, int lanes)
{
    uint32_t mask = 0;
    for (int i = 0; i < lanes; i++) {
        mask |= 1u << stream->lane[i];
    }
    return mask;
}

gm_shape *gm_shape_of(const gm_warp_stream *stream, int64_t n, int lanes)
{
    const gm_step *step = &stream->steps[n];
    gm_shape *shape = &stream->shapes[n];
    const uint32_t mask = lanes == GM_WARP ? ~UINT32_C(0) : mask_of(stream, lanes);
    const uintptr_t first = step->address[0];
    if (shape->lanes != lanes || shape->mask != mask || shape->bytes != step->call.bytes ||
        !are_alike(step->address, shape->offset, lanes)) {
        shape->lanes = lanes;
        shape->mask = mask;
        shape->bytes = step->call.bytes;
        shape->counted = false;
        measure(shape, step->address);
        find_words(shape);
    }
    /* Counters tell shared arrays apart, so that what is counted holds within one alone. */
    uintptr_t begin = first + shape->low - step->begin, room = step->span + shape->bytes - 1;
    bool inside = step->span && begin < room && shape->length <= room - begin;
    if (shape->site != step->site || shape->phase != first % GM_PERIOD || !inside) {
        shape->site = step->site;
        shape->phase = inside ? first % GM_PERIOD : GM_PERIOD;
        shape->counted = false;
    }
    return shape;
}
