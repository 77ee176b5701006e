/* What the files of transfers share. */
#ifndef GPUMEM_CHUNK_H
#define GPUMEM_CHUNK_H

#include "backend/backend.h"

/* Bytes that travel at a time, of so many in all; INT64_MAX where nothing is cut. Staged ones go
 * through the host's threads, which have to be woken for each. */
int64_t gm_chunk(const gm_backend *backend, int64_t bytes, bool staged);

/* Waits for the stream, also after an error, which is then what is reported. */
gm_status gm_finish(const gm_backend *backend, gm_stream stream, gm_status status);

#endif
