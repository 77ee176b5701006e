/* Memory of the simulator, which is the host's: allocations, copies and variables. */
#include <stdatomic.h>
#include <string.h>

#include "backend/sim_internal.h"
#include "sim/memory.h"

/* Bytes of host memory, which is in the same list as device memory. */
static atomic_llong host_bytes;

/* Calls end before they return: all streams have one order. */
gm_status gm_sim_allocate(int64_t bytes, gm_stream stream, void **address)
{
    (void)stream;
    return gm_memory_allocate(bytes, address);
}

void gm_sim_release(void *address, gm_stream stream)
{
    (void)stream;
    gm_memory_release(address);
}

gm_status gm_sim_adopt(void *address, int64_t bytes, int *device)
{
    *device = 0;
    return gm_memory_adopt(address, bytes);
}

gm_status gm_sim_pool(gm_pool_sizes *pool)
{
    int64_t used_bytes = gm_memory_used() - atomic_load(&host_bytes);
    *pool = (gm_pool_sizes){.reserved_bytes = used_bytes, .used_bytes = used_bytes};
    return GM_OK;
}

gm_status gm_sim_pool_trim(void)
{
    gm_memory_trim();
    return GM_OK;
}

/* All memory is the host's. Kernels may reach memory of these kinds. */
gm_status gm_sim_host_allocate(gm_memory_kind kind, int64_t bytes, void **address)
{
    (void)kind;
    gm_status status = gm_memory_allocate(bytes, address);
    if (status == GM_OK) {
        gm_memory_note_write(*address, bytes); /* the host writes there without copies */
        atomic_fetch_add(&host_bytes, bytes);
    }
    return status;
}

void gm_sim_host_release(gm_memory_kind kind, void *address)
{
    (void)kind;
    atomic_fetch_sub(&host_bytes, gm_memory_release(address));
}

gm_memory_kind gm_sim_host_kind(const void *address)
{
    (void)address;
    return GM_PAGEABLE;
}

gm_status gm_sim_migrate(void *address, int64_t bytes, bool to_device, gm_stream stream)
{
    (void)address, (void)bytes, (void)to_device, (void)stream;
    return GM_OK;
}

gm_status gm_sim_copy(void *to, const void *from, int64_t bytes, gm_direction direction,
                      gm_stream stream)
{
    (void)direction;
    (void)stream;
    if (bytes > 0) {
        memcpy(to, from, (size_t)bytes);
        gm_memory_note_write(to, bytes);
    }
    return GM_OK;
}

gm_status gm_sim_copy_rows(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                           int64_t width, int64_t rows, gm_direction direction, gm_stream stream)
{
    (void)direction;
    (void)stream;
    for (int64_t i = 0; i < rows; i++) {
        memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, (size_t)width);
    }
    if (rows > 0 && width > 0) { /* what lies between the rows as well, for speed */
        int64_t span = (rows - 1) * to_pitch;
        gm_memory_note_write((char *)to + (span < 0 ? span : 0), (span < 0 ? -span : span) + width);
    }
    return GM_OK;
}

gm_status gm_sim_send(void *to, int device, const void *from, int64_t bytes, gm_stream stream)
{
    gm_status status = gm_sim_check_device(device);
    return status == GM_OK ? gm_sim_copy(to, from, bytes, GM_WITHIN, stream) : status;
}

gm_status gm_sim_fill(void *to, int byte, int64_t bytes, gm_stream stream)
{
    (void)stream;
    if (bytes > 0) {
        memset(to, byte, (size_t)bytes);
        gm_memory_note_write(to, bytes);
    }
    return GM_OK;
}

gm_status gm_sim_symbol_address(const gm_symbol *symbol, bool traced, void **address)
{
    *address = traced ? symbol->traced() : symbol->plain();
    return GM_OK;
}

gm_status gm_sim_symbol_copy(const gm_symbol *symbol, bool traced, bool into, void *memory,
                             int64_t bytes, gm_stream stream)
{
    void *variable;
    gm_sim_symbol_address(symbol, traced, &variable);
    return into ? gm_sim_copy(variable, memory, bytes, GM_WITHIN, stream)
                : gm_sim_copy(memory, variable, bytes, GM_WITHIN, stream);
}
