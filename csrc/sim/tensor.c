/*
 * The tensor copy engine on the simulator. A map holds the description of its matrix. A copy moves
 * the box row by row and is complete when the call returns.
 */
#include "sim/tensor.h"

#include <string.h>

#include "sim/hooks.h"
#include "sim/mbarrier.h"

_Static_assert(sizeof(gm_tensor) <= sizeof(gm_tensor_map), "a map holds its matrix");

enum {
    PIECE = 16,       /* bytes that stay together in a swizzled box */
    SWIZZLE_ROW = 128 /* bytes within which the pieces are permuted */
};

static const int64_t MOST_PITCH = INT64_C(1) << 40;

static bool is_pitch(int64_t bytes)
{
    return bytes >= 0 && bytes < MOST_PITCH && bytes % PIECE == 0;
}

gm_status gm_sim_tensor_map(const gm_tensor *tensor, gm_tensor_map *map)
{
    const int64_t box_bytes = (int64_t)tensor->box_width * tensor->itemsize;
    if ((uintptr_t)tensor->data % PIECE || box_bytes % PIECE || tensor->box_width > 256 ||
        tensor->box_height > 256 || tensor->width < 1 || tensor->height < 1 ||
        tensor->width > UINT32_MAX || tensor->height > UINT32_MAX || tensor->planes < 0 ||
        tensor->planes > UINT32_MAX || !is_pitch(tensor->pitch) ||
        (tensor->planes > 1 && !is_pitch(tensor->plane_pitch)) ||
        (tensor->swizzled && box_bytes > SWIZZLE_ROW)) {
        return gm_fail(GM_ERROR_VALUE, "the tensor copy engine does not support this matrix");
    }
    memset(map, 0, sizeof *map);
    memcpy(map->opaque, tensor, sizeof *tensor);
    return GM_OK;
}

/* A row of a box: which of its bytes are inside the matrix, none where begin equals end. */
typedef struct row {
    char *global; /* of the row's first byte, inside the matrix or not */
    int64_t begin, end;
} row;

static row find_row(const gm_tensor *t, int64_t x, int64_t y, int64_t z)
{
    const int64_t planes = t->planes > 0 ? t->planes : 1;
    row r = {.begin = 0, .end = 0};
    int64_t first = x < 0 ? -x : 0, last = t->width - x;
    last = last < t->box_width ? last : t->box_width;
    if (y >= 0 && y < t->height && z >= 0 && z < planes && first < last) {
        r.begin = first * t->itemsize;
        r.end = last * t->itemsize;
    }
    r.global = (char *)t->data + z * t->plane_pitch + y * t->pitch + x * t->itemsize;
    return r;
}

/* The address of byte `at` of row `number`; swizzled, bits 4 to 6 of it are xored with 7 to 9. */
static char *place(const gm_tensor *t, void *shared, int64_t number, int64_t at)
{
    uintptr_t address = (uintptr_t)shared +
                        (uintptr_t)(number * (int64_t)t->box_width * t->itemsize) + (uintptr_t)at;
    return (char *)(t->swizzled ? address ^ (address >> 3 & 0x70) : address);
}

/* For a copy in a stack, or in the only matrix. */
static gm_tensor open_map(const gm_tensor_map *map, bool of_stack, const void *shared,
                          const char *file, int line)
{
    gm_tensor tensor;
    memcpy(&tensor, map->opaque, sizeof tensor);
    if ((uintptr_t)shared % SWIZZLE_ROW != 0) {
        gm_sim_fault_of(GM_RULE_MISALIGNED, file, line,
                        "a tensor copy whose shared address is not a multiple of 128");
    }
    if ((tensor.planes > 0) != of_stack) {
        gm_sim_fault(file, line, "a tensor copy with more or fewer dimensions than its map");
    }
    return tensor;
}

static void load(const void *code, const gm_tensor *t, void *shared, const int64_t at[3],
                 uint64_t *barrier, const char *file, int line)
{
    const uint32_t bytes = t->box_width * (uint32_t)t->itemsize;
    for (unsigned i = 0; i < t->box_height; i++) {
        row r = find_row(t, at[0], at[1] + i, at[2]);
        if (r.begin < r.end) {
            gm_sim_engine_access(code, (uintptr_t)r.global + (uintptr_t)r.begin,
                                 (uint32_t)(r.end - r.begin), GM_LOAD, NULL, file, line);
        }
        gm_sim_engine_access(code, (uintptr_t)shared + (uintptr_t)i * bytes, bytes, GM_STORE,
                             barrier, file, line);
        for (int64_t k = 0; k < bytes; k++) {
            *place(t, shared, i, k) = (char)(k >= r.begin && k < r.end ? r.global[k] : 0);
        }
    }
    gm_sim_mbarrier_complete(barrier, bytes * t->box_height, file, line);
}

void gm_sim_tensor_load(void *shared, const gm_tensor_map *map, int x, int y, uint64_t *barrier,
                        const char *file, int line)
{
    const gm_tensor t = open_map(map, false, shared, file, line);
    load(__builtin_return_address(0), &t, shared, (const int64_t[]){x, y, 0}, barrier, file, line);
}

void gm_sim_tensor_load_plane(void *shared, const gm_tensor_map *map, int x, int y, int z,
                              uint64_t *barrier, const char *file, int line)
{
    const gm_tensor t = open_map(map, true, shared, file, line);
    load(__builtin_return_address(0), &t, shared, (const int64_t[]){x, y, z}, barrier, file, line);
}

void gm_sim_tensor_store(const gm_tensor_map *map, int x, int y, const void *shared,
                         const char *file, int line)
{
    const void *code = __builtin_return_address(0);
    gm_tensor t = open_map(map, false, shared, file, line);
    uint32_t bytes = t.box_width * (uint32_t)t.itemsize;
    for (unsigned i = 0; i < t.box_height; i++) {
        row r = find_row(&t, x, (int64_t)y + i, 0);
        gm_sim_engine_access(code, (uintptr_t)shared + (uintptr_t)i * bytes, bytes, GM_LOAD, NULL,
                             file, line);
        if (r.begin < r.end) {
            gm_sim_engine_access(code, (uintptr_t)r.global + (uintptr_t)r.begin,
                                 (uint32_t)(r.end - r.begin), GM_STORE, NULL, file, line);
        }
        for (int64_t at = r.begin; at < r.end; at++) {
            r.global[at] = *place(&t, (void *)(uintptr_t)shared, i, at);
        }
    }
    gm_sim_sync(&(gm_sync){.kind = GM_ENGINE_COMMIT, .file = file, .line = line});
}
