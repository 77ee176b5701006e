/*
 * Host memory of the five kinds, and the pool it comes from.
 *
 * A block belongs to a backend and is known by its addresses, so that a view of it, however
 * small, tells its kind. Page-locked blocks are slow to make: those given back are kept for the
 * next that asks, up to a limit.
 */
#ifndef GPUMEM_MEMORY_H
#define GPUMEM_MEMORY_H

#include "backend/backend.h"

extern const char *const gm_memory_kind_names[GM_MEMORY_KINDS + 1];

/* Any kind but GM_PAGEABLE; never NULL on success, aligned to 4096 bytes. */
gm_status gm_host_allocate(const gm_backend *backend, gm_memory_kind kind, int64_t bytes,
                           void **address);
void gm_host_release(void *address);

/* The kind of the bytes at an address, and whose they are. Memory that is of no block here is
 * GM_PAGEABLE, and *backend is NULL. */
gm_memory_kind gm_host_kind(const void *address, const gm_backend **backend);

/* Of the page-locked blocks of a backend: held in all, in use, and the most that is kept. */
void gm_host_pool_sizes(const gm_backend *backend, gm_pool_sizes *sizes);
/* Gives back what nobody uses; GM_OK always, with the bytes. */
int64_t gm_host_pool_trim(const gm_backend *backend);

#endif
