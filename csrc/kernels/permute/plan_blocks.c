/* permute: the blocks of packed. */
#include "backend/backend.h"
#include "permute/plan_packed.h"

static size_t shared_bytes(const permute_packed_args *args)
{
    return 2 * (size_t)args->buffer + PACKED_PLACES * PACKED_PLACE_BYTES +
           PACKED_DIMS * PACKED_STEP_BYTES +
           (size_t)(args->load.room + args->store.room) * PACKED_ROW_BYTES +
           args->entries * sizeof(uint16_t);
}

/* Tiles of a block. Blocks that go on for long drift apart, and memory is slower for what is far
 * apart: those of large arrays leave after a few tiles. New ones write their tables again, which
 * takes longer for bytes, and where tiles are cleared. */
static uint32_t tiles_of_block(const permute_packed_args *args)
{
    enum { FEW = 128 << 10, MORE = 352 << 10 /* bytes */ };
    const uint32_t all = (args->tiles - 1) / args->wave + 1;
    const bool longer = args->unit == 1 || args->clears || args->store.shifted;
    const uint32_t some = (longer ? MORE : FEW) / args->buffer + 1;
    return args->threads == PACKED_THREADS && some < all ? some : all;
}

void permute_fill_packed(const permute_layout *layout, const gm_device_properties *device,
                         gm_plan *plan)
{
    enum { RESERVED = 1024 }; /* bytes of shared memory per block, for the system */
    permute_packed_args *args = (permute_packed_args *)plan->args;
    double cost;
    (void)permute_plan_packed(layout, device, args, &cost);
    plan->args_size = sizeof *args;
    plan->shared_bytes = shared_bytes(args);
    int64_t room = device->shared_per_multiprocessor / (int64_t)(plan->shared_bytes + RESERVED);
    int64_t resident = room < 1 ? 1 : room < args->blocks ? room : args->blocks;
    plan->block.x = args->threads;
    int64_t blocks = resident * device->multiprocessors;
    args->wave = (uint32_t)(blocks < args->tiles ? blocks : args->tiles);
    args->each = tiles_of_block(args);
    /* Full waves of blocks, and of the last one those that have a tile. */
    const uint32_t span = args->each * args->wave, rest = args->tiles % span;
    plan->grid.x = args->tiles / span * args->wave + (rest < args->wave ? rest : args->wave);
}
