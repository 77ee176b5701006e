/* What the files of the simulator's backend share. */
#ifndef GPUMEM_SIM_INTERNAL_H
#define GPUMEM_SIM_INTERNAL_H

#include "backend/backend.h"

/* ---- sim_device.c: the one device ------------------------------------------------------------ */

gm_status gm_sim_open(void);
/* Host threads that may run the blocks of a grid. */
int gm_sim_host_threads(void);
/* Blocks that the device holds at once, each with this much dynamic shared memory. */
int64_t gm_sim_resident_blocks(gm_dim block, size_t shared_bytes);
int gm_sim_device_count(void);
gm_status gm_sim_current_device(int *device);
gm_status gm_sim_use_device(int device, int *previous);
gm_status gm_sim_check_device(int device);
gm_status gm_sim_can_reach(int device, int other, bool *can);
gm_status gm_sim_let_reach(int device, int other, bool on, bool *before);
gm_status gm_sim_properties(int device, const gm_device_properties **result);

/* ---- sim.c: launches ------------------------------------------------------------------------- */

/* An error if a device does not take such a launch. */
gm_status gm_sim_check_launch(const char *kernel, gm_dim grid, gm_dim block, size_t shared_bytes);

/* ---- sim_memory.c: memory and copies ----------------------------------------------------------
 */

gm_status gm_sim_allocate(int64_t bytes, gm_stream stream, void **address);
void gm_sim_release(void *address, gm_stream stream);
gm_status gm_sim_adopt(void *address, int64_t bytes, int *device);
gm_status gm_sim_pool(gm_pool_sizes *pool);
gm_status gm_sim_pool_trim(void);
gm_status gm_sim_host_allocate(gm_memory_kind kind, int64_t bytes, void **address);
void gm_sim_host_release(gm_memory_kind kind, void *address);
gm_memory_kind gm_sim_host_kind(const void *address);
gm_status gm_sim_migrate(void *address, int64_t bytes, bool to_device, gm_stream stream);
gm_status gm_sim_copy(void *to, const void *from, int64_t bytes, gm_direction direction,
                      gm_stream stream);
gm_status gm_sim_copy_rows(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                           int64_t width, int64_t rows, gm_direction direction, gm_stream stream);
gm_status gm_sim_send(void *to, int device, const void *from, int64_t bytes, gm_stream stream);
gm_status gm_sim_fill(void *to, int byte, int64_t bytes, gm_stream stream);
gm_status gm_sim_symbol_address(const gm_symbol *symbol, bool traced, void **address);
gm_status gm_sim_symbol_copy(const gm_symbol *symbol, bool traced, bool into, void *memory,
                             int64_t bytes, gm_stream stream);

/* ---- sim_stream.c: streams, which are all one, and events, which there are none of ------------
 */

gm_status gm_sim_wait(gm_stream stream);
gm_status gm_sim_wait_all(void);
gm_status gm_sim_stream_create(gm_stream *stream);
void gm_sim_stream_destroy(gm_stream stream);
gm_status gm_sim_stream_is_nonblocking(gm_stream stream, bool *apart);
gm_status gm_sim_stream_join(gm_stream later, gm_stream earlier);
gm_status gm_sim_event_create(gm_event *event);
void gm_sim_event_destroy(gm_event event);
gm_status gm_sim_event_record(gm_event event, gm_stream stream);
gm_status gm_sim_event_done(gm_event event, bool *done);
gm_status gm_sim_stream_follow(gm_stream stream, gm_event event);
gm_status gm_sim_event_elapsed(gm_event from, gm_event to, float *milliseconds);

#endif
