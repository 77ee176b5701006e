/*
 * Device memory with a reference count: arrays refer to it, and other libraries that borrowed it.
 * No Python here, so that the last reference may be dropped on any thread at any time.
 *
 * Memory is allocated and released in the order of the default stream. Nonblocking streams, which
 * the default stream does not wait for and which other libraries make, are tracked here: memory
 * remembers its uses on them.
 */
#ifndef GPUMEM_DEVICE_H
#define GPUMEM_DEVICE_H

#include <stdatomic.h>

#include "backend/backend.h"

/* The latest work of one nonblocking stream on some memory. */
typedef struct gm_use {
    gm_stream stream;
    gm_event done;
} gm_use;

typedef struct gm_device_memory {
    atomic_llong references;
    const gm_backend *backend;
    int device;
    bool managed; /* its pages migrate between host and device */
    void *address;
    bool allocated;   /* by gm_device_memory_new */
    int64_t borrowed; /* bytes of another library */
    void *owner;      /* of borrowed memory; released by forget. NULL: none */
    void (*forget)(void *owner);
    atomic_bool worked; /* a stream was given work on it, or is about to */
    bool has_producer;  /* another library's stream uses it too, and has to wait for our work */
    gm_stream producer;
    bool behind;          /* the next work on it has to wait for the producer's stream */
    bool one_call;        /* borrowed for a call: gpumem does nothing with it afterwards */
    gm_use *uses;         /* on nonblocking streams; guarded by device.c's lock */
    atomic_int use_count; /* written under the lock only */
} gm_device_memory;

/* The next three functions return memory with one reference. On the current device: */
gm_status gm_device_memory_new(const gm_backend *backend, int64_t bytes, gm_device_memory **memory);
/* Memory of another library, at its address. The caller sets owner and forget. */
gm_status gm_device_memory_borrow(const gm_backend *backend, int device, void *address,
                                  int64_t bytes, gm_device_memory **memory);
/* No memory of its own: for an array of the host that is used in place and kept alive elsewhere. */
gm_status gm_device_memory_none(const gm_backend *backend, gm_device_memory **memory);

/* Was the memory borrowed for a call, and is nothing left of that but this one reference? Then it
 * gives back what it keeps of the library's, and may be borrowed again. */
bool gm_device_memory_end_loan(gm_device_memory *memory);
/* Makes it as gm_device_memory_borrow would. */
void gm_device_memory_begin_loan(gm_device_memory *memory);

gm_device_memory *gm_device_memory_keep(gm_device_memory *memory);
void gm_device_memory_drop(gm_device_memory *memory);

/* The producer that a call has joined last: its arrays mostly have the same, which is joined once.
 */
typedef struct gm_joined {
    bool any;
    gm_stream producer;
} gm_joined;

/* Makes a stream, which is about to be given work, wait for the producer's, unless it did. */
gm_status gm_device_memory_follow(gm_device_memory *memory, gm_stream stream, gm_joined *joined);
/* Records that a stream was just given work on the memory: what follows anywhere waits for it. */
gm_status gm_device_memory_worked(gm_device_memory *memory, gm_stream stream, bool nonblocking,
                                  gm_joined *joined);
/* Makes the default stream wait for all such work. */
gm_status gm_device_memory_settle(gm_device_memory *memory);
/* Makes the host wait for all of gpumem's work on it. Its device is the current one. */
gm_status gm_device_memory_finish(gm_device_memory *memory);

#endif
