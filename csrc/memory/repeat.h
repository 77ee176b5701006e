/* Copies repeated many times, each in one or several pieces: what measurements of transfers run. */
#ifndef GPUMEM_REPEAT_H
#define GPUMEM_REPEAT_H

#include "memory/device.h"
#include "memory/transfer.h"

/* How often all bytes are copied, and in how many pieces each time. Each piece is waited for. */
typedef struct gm_repeat {
    int64_t count, pieces;
} gm_repeat;

/* Between host and device. by_driver: pageable memory goes as the driver does it, not through
 * gpumem's ring of chunks. */
gm_status gm_repeat_transfer(const gm_repeat *repeat, const gm_route *route, bool by_driver,
                             void *to, const void *from, int64_t bytes, gm_direction direction);

/* From the memory of one device, the current one, to that of another. */
gm_status gm_repeat_send(const gm_repeat *repeat, const gm_device_memory *source, const void *from,
                         const gm_device_memory *target, void *to, int64_t bytes, gm_stream stream);

/* Lets copies between two devices go directly, if they can. */
gm_status gm_connect(const gm_device_memory *source, const gm_device_memory *target);
/* Waits until work on the default stream no longer uses recycled memory. */
gm_status gm_wait_until_free(const gm_device_memory *memory);

#endif
