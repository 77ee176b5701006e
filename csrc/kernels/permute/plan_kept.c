/* permute: the plans of packed for the layouts that a thread has met last. */
#include <string.h>

#include "backend/backend.h"
#include "per_thread.h"
#include "permute/plan_packed.h"
#include "permute/plan_tiling.h"

/* What a plan depends on: addresses only by where they are within a sector. */
typedef struct plan_key {
    int unit, ndim, in, out, multiprocessors, spare; /* no padding: compared byte by byte */
    int64_t extent[PACKED_DIMS], from[PACKED_DIMS], to[PACKED_DIMS];
} plan_key;

typedef struct kept_plan {
    plan_key key;
    bool found;
    permute_packed_plan plan;
} kept_plan;

static plan_key key_of(const permute_layout *layout, int multiprocessors)
{
    plan_key key;
    memset(&key, 0, sizeof key);
    key.unit = layout->unit;
    key.ndim = layout->ndim;
    key.multiprocessors = multiprocessors;
    key.in = (int)((uintptr_t)layout->in % GM_SECTOR);
    key.out = (int)((uintptr_t)layout->out % GM_SECTOR);
    for (int d = 0; d < layout->ndim; d++) {
        key.extent[d] = layout->extent[d];
        key.from[d] = layout->from[d];
        key.to[d] = layout->to[d];
    }
    return key;
}

/* The plan of a layout, in `none` if there is no memory to keep it. */
static const kept_plan *find_plan(const permute_layout *layout, const gm_device_properties *device,
                                  kept_plan *none)
{
    const plan_key key = key_of(layout, device->multiprocessors);
    bool known;
    kept_plan *kept = gm_per_thread_slot(GM_PART_PLANS, sizeof *kept, &key, sizeof key, &known);
    kept_plan *slot = kept ? kept : none;
    if (!known) {
        slot->plan = (permute_packed_plan){0};
        slot->found = permute_make_plan(layout, device->multiprocessors, &slot->plan);
        slot->key = key;
    }
    return slot;
}

bool permute_plan_packed(const permute_layout *layout, const gm_device_properties *device,
                         permute_packed_args *args, double *cost)
{
    if (layout->ndim > PACKED_DIMS) {
        return false;
    }
    kept_plan none;
    const kept_plan *kept = find_plan(layout, device, &none);
    *args = kept->plan.args;
    *cost = kept->plan.cost;
    args->in = layout->in;
    args->out = layout->out;
    permute_memory(layout, &args->begin, &args->end);
    return kept->found;
}

bool permute_packed_rest(const permute_layout *layout, const gm_device_properties *device,
                         permute_layout *rest)
{
    kept_plan none;
    return permute_rest_of(layout, find_plan(layout, device, &none)->plan.moved, rest);
}
