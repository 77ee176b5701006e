/*
 * Between arrays of the host and the device.
 *
 * The copy engines read and write page-locked memory alone. What is pageable goes through a ring
 * of page-locked chunks: host threads fill one while earlier ones are on the bus.
 */
#ifndef GPUMEM_TRANSFER_H
#define GPUMEM_TRANSFER_H

#include "backend/backend.h"

/* Contiguous bytes, there when it returns; `kind` is that of the host's side. */
gm_status gm_transfer(const gm_backend *backend, void *to, const void *from, int64_t bytes,
                      gm_memory_kind kind, gm_direction direction, gm_stream stream);

/* Of memory of the device that nobody else has yet. On the simulator it is the host's, which may
 * have to look for it when it is first touched, for as long as a second for a few hundred MiB: the
 * poll hook may stop both half way. */
/* As gm_transfer, to the device. */
gm_status gm_transfer_new(const gm_backend *backend, void *to, const void *from, int64_t bytes,
                          gm_memory_kind kind, gm_stream stream);
/* Leaves its bytes as they are. */
gm_status gm_touch_new(const gm_backend *backend, void *memory, int64_t bytes);

/*
 * A call on contiguous arrays of the host, `memory` saying of which kind each is. Cut into pieces,
 * so that one is on its way to the device, one with a kernel, and one on its way back.
 */
/* Is it one that can be cut, and large enough? If so, every piece fits the variant. */
bool gm_can_cut(const gm_variant *variant, const gm_call *call);
/* Runs it; the result is there when it returns. */
gm_status gm_run_cut(const gm_variant *variant, const gm_call *call);

/* How many bytes travel at a time; 0 is the default: on the simulator nothing is cut then. Returns
 * what it was. */
int64_t gm_set_chunk(int64_t bytes);

#endif
