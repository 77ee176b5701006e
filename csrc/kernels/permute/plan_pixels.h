/* permute: images whose channels become planes, or planes pixels. */
#ifndef GPUMEM_PERMUTE_PLAN_PIXELS_H
#define GPUMEM_PERMUTE_PLAN_PIXELS_H

#include "permute/plan_layout.h"

/* The axes of pixels and of channels, as they are in the result: planes have the pixels inside.
 * They follow each other backwards where channels change their order. */
typedef struct permute_image {
    int pixels, channels;
    bool to_planes;
} permute_image;

/* Is it images of so many channels? */
bool permute_as_image(const permute_layout *layout, int64_t least, int64_t most,
                      permute_image *found);

/* Is it images, and pixels the fastest way: have most lanes something to do? */
bool permute_prefers_pixels(const permute_layout *layout);

/* The row of the ladder and its instances. */
gm_status permute_takes_pixels(const gm_variant *variant, const gm_call *call);
int permute_pick_pixels(const gm_call *call);
void permute_plan_row_pixels(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#endif
