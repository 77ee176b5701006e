/*
 * Device memory, kept as long as somebody counts on it: arrays here, or another library that was
 * lent it. No Python in here, so that the last of them may let go on any thread, at any time.
 *
 * Memory is allocated and released in the order of the default stream. Streams that the default
 * stream does not wait for, such as other libraries make, are watched here: memory remembers what
 * they do with it.
 */
#ifndef GPUMEM_DEVICE_H
#define GPUMEM_DEVICE_H

#include <stdatomic.h>

#include "backend/backend.h"

/* The last work of one stream on some memory. */
typedef struct gm_use {
    gm_stream stream;
    gm_event done;
} gm_use;

typedef struct gm_device_memory {
    atomic_llong references;
    const gm_backend *backend;
    int device;
    bool managed; /* its pages move between host and device */
    void *address;
    bool allocated;   /* here */
    int64_t borrowed; /* bytes of another library's */
    void *owner;      /* of what is borrowed; NULL when nobody needs to be told */
    void (*forget)(void *owner);
    bool
        has_producer; /* a stream that works on it as well, and has to wait for what is done here */
    gm_stream producer;
    gm_use *uses; /* by streams that the default stream does not wait for; under device.c's lock */
    atomic_int use_count; /* changed under the lock alone */
} gm_device_memory;

/* All return memory with one reference, or a failure. On the current device: */
gm_status gm_device_memory_new(const gm_backend *backend, int64_t bytes, gm_device_memory **memory);
/* The bytes at an address of another library's. Nobody is told of the end until owner is set. */
gm_status gm_device_memory_borrow(const gm_backend *backend, void *address, int64_t bytes,
                                  gm_device_memory **memory);
/* Nothing by itself: for an array of the host that is used where it is, and kept elsewhere. */
gm_status gm_device_memory_none(const gm_backend *backend, gm_device_memory **memory);

gm_device_memory *gm_device_memory_keep(gm_device_memory *memory);
void gm_device_memory_drop(gm_device_memory *memory);

/* The stream, apart from the default one, was just given work on it. */
gm_status gm_device_memory_used(gm_device_memory *memory, gm_stream stream);
/* The default stream waits for all such work. */
gm_status gm_device_memory_settle(gm_device_memory *memory);
/* The host waits for all work of gpumem that may still use it. On its device, without the GIL. */
gm_status gm_device_memory_finish(gm_device_memory *memory);

#endif
