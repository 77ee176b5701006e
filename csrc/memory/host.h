/*
 * Host memory of the five kinds, and the pool it comes from.
 *
 * A block belongs to a backend and is found by any address in it, so the kind of a view's memory is
 * known too. Page-locked blocks are slow to allocate: released ones stay in a pool, up to a limit.
 */
#ifndef GPUMEM_HOST_H
#define GPUMEM_HOST_H

#include "backend/backend.h"

extern const char *const gm_memory_kind_names[GM_MEMORY_KINDS + 1];

/* Any kind but GM_PAGEABLE; never NULL on success, aligned to 4096 bytes. */
gm_status gm_host_allocate(const gm_backend *backend, gm_memory_kind kind, int64_t bytes,
                           void **address);
void gm_host_release(void *address);

/* The kind of memory at an address, and the backend of its block. Outside of all blocks it is
 * GM_PAGEABLE, and *backend is NULL. */
gm_memory_kind gm_host_kind(const void *address, const gm_backend **backend);

/* Sizes of the pool of a backend's page-locked blocks. */
void gm_host_pool_sizes(const gm_backend *backend, gm_pool_sizes *sizes);
/* Returns free blocks to the system; the result is their size in bytes. */
int64_t gm_host_pool_trim(const gm_backend *backend);

#endif
