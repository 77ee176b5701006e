/* Repeated copies, and what copies between devices need. */
#include "memory/repeat.h"

/* Begin and length of a piece; pieces differ by one byte at most. */
static int64_t find_piece(int64_t bytes, int64_t pieces, int64_t piece, int64_t *begin)
{
    int64_t least = bytes / pieces, longer = bytes % pieces;
    *begin = piece * least + (piece < longer ? piece : longer);
    return least + (piece < longer);
}

gm_status gm_repeat_transfer(const gm_repeat *repeat, const gm_route *route, bool by_driver,
                             void *to, const void *from, int64_t bytes, gm_direction direction)
{
    const gm_backend *backend = route->backend;
    gm_status status = GM_OK;
    for (int64_t i = 0; status == GM_OK && i < repeat->count; i++) {
        for (int64_t piece = 0; status == GM_OK && piece < repeat->pieces; piece++) {
            int64_t at, length = find_piece(bytes, repeat->pieces, piece, &at);
            char *target = (char *)to + at;
            const char *source = (const char *)from + at;
            if (by_driver) {
                status = backend->copy(target, source, length, direction, route->stream);
                status = gm_finish(backend, route->stream, status);
            } else {
                status = gm_transfer(route, target, source, length, direction);
            }
        }
    }
    return status;
}

gm_status gm_repeat_send(const gm_repeat *repeat, const gm_device_memory *source, const void *from,
                         const gm_device_memory *target, void *to, int64_t bytes, gm_stream stream)
{
    const gm_backend *backend = source->backend;
    gm_status status = GM_OK;
    for (int64_t i = 0; status == GM_OK && i < repeat->count; i++) {
        for (int64_t piece = 0; status == GM_OK && piece < repeat->pieces; piece++) {
            int64_t at, length = find_piece(bytes, repeat->pieces, piece, &at);
            status = backend->send((char *)to + at, target->device, (const char *)from + at, length,
                                   stream);
            status = gm_finish(backend, stream, status);
        }
    }
    return status;
}

gm_status gm_connect(const gm_device_memory *source, const gm_device_memory *target)
{
    const gm_backend *backend = source->backend;
    bool can, before;
    gm_status status = backend->can_reach(source->device, target->device, &can);
    return status == GM_OK && can
               ? backend->let_reach(source->device, target->device, true, &before)
               : status;
}

gm_status gm_wait_until_free(const gm_device_memory *memory)
{
    const gm_backend *backend = memory->backend;
    int previous;
    gm_status status = backend->use_device(memory->device, &previous);
    if (status != GM_OK) {
        return status;
    }
    status = backend->wait(NULL);
    gm_backend_go_back(backend, previous);
    return status;
}
