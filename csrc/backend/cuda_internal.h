/*
 * What the files of the cuda backend share.
 */
#ifndef GPUMEM_CUDA_INTERNAL_H
#define GPUMEM_CUDA_INTERNAL_H

#include <stdatomic.h>

#include <cuda_runtime_api.h>

#include "backend.h"

/* Returns from the calling function when a step of gpumem's own failed. */
#define TRY(expression)                                                                            \
    do {                                                                                           \
        gm_status try_ = (expression);                                                             \
        if (try_ != GM_OK)                                                                         \
            return try_;                                                                           \
    } while (0)

/* The same for a call of the CUDA runtime, whose error becomes the error record. */
#define CHECK(expression)                                                                          \
    do {                                                                                           \
        cudaError_t check_ = (expression);                                                         \
        if (check_ != cudaSuccess)                                                                 \
            return gm_cuda_failure(check_, #expression, NULL);                                     \
    } while (0)

/* context: what failed ("The launch of tile"), or NULL for the name of the function. */
gm_status gm_cuda_failure(cudaError_t error, const char *call, const char *context);
/* For a call whose failure the caller handles or ignores: did it succeed? Clears the runtime's
 * error, which would otherwise be reported by the next check, such as that of a launch. */
bool gm_cuda_succeeded(cudaError_t error);
/* Adds CUDA's part to the error record that gm_fail filled in; returns status. */
gm_status gm_cuda_annotate(gm_status status, cudaError_t error, bool sticky, const char *call);

enum {
    GM_CUDA_OPT_INS = 1024, /* kernels remembered per device */
};

/* A kernel, and what it may be launched with: bytes of dynamic shared memory, and blocks of a
 * cluster, which are 0 until somebody asks. */
typedef struct gm_cuda_opt_in {
    _Atomic(const void *) kernel;
    atomic_size_t bytes;
    atomic_int cluster_blocks;
} gm_cuda_opt_in;

/* Facts about a device, each read at its first use. */
typedef struct gm_cuda_device {
    int index;
    atomic_bool has_properties, has_pool, has_kernels;
    gm_device_properties properties;
    cudaMemPool_t pool; /* NULL: the device has no stream-ordered allocator */
    gm_cuda_opt_in opt_ins[GM_CUDA_OPT_INS];
} gm_cuda_device;

/* cuda_device.c. Every function of the table opens CUDA first and fails if that fails, except those
 * that release something: these do nothing. */
gm_status gm_cuda_open(void);
gm_status gm_cuda_current_device(int *device);
gm_status gm_cuda_use_device(int device, int *previous);
gm_status gm_cuda_properties(int device, const gm_device_properties **properties);
void gm_cuda_versions(char runtime[32], char driver[32]);
bool gm_cuda_is_open(void); /* false in a forked child */
int gm_cuda_device_count(void);
gm_cuda_device *gm_cuda_device_at(int index);
gm_status gm_cuda_here(gm_cuda_device **device); /* the thread's current device */
/* Calls learn(device) once; one thread at a time is in any learn function. */
gm_status gm_cuda_prepare(gm_cuda_device *device, atomic_bool *done,
                          gm_status (*learn)(gm_cuda_device *device));
void gm_cuda_lock(void);
void gm_cuda_unlock(void);

/* cuda_stream.c */
gm_status gm_cuda_wait(gm_stream stream);
gm_status gm_cuda_wait_all(void);
gm_status gm_cuda_stream_create(gm_stream *stream);
void gm_cuda_stream_destroy(gm_stream stream);
gm_status gm_cuda_stream_is_nonblocking(gm_stream stream, bool *nonblocking);
gm_status gm_cuda_stream_join(gm_stream later, gm_stream earlier);
gm_status gm_cuda_event_create(gm_event *event);
void gm_cuda_event_destroy(gm_event event);
gm_status gm_cuda_event_record(gm_event event, gm_stream stream);
gm_status gm_cuda_event_done(gm_event event, bool *done);
gm_status gm_cuda_stream_follow(gm_stream stream, gm_event event);
gm_status gm_cuda_event_elapsed(gm_event from, gm_event to, float *milliseconds);

/* cuda_memory.c */
gm_status gm_cuda_memory(int64_t *free_bytes, int64_t *total_bytes);
gm_status gm_cuda_allocate(int64_t bytes, gm_stream stream, void **address);
void gm_cuda_release(void *address, gm_stream stream);
gm_status gm_cuda_adopt(void *address, int64_t bytes, int *device);
void gm_cuda_disown(void *address, int64_t bytes);
gm_status gm_cuda_pool(gm_pool_sizes *sizes);
gm_status gm_cuda_pool_trim(void);
/* The pool of a device; NULL if it has none. */
gm_status gm_cuda_find_pool(int device, cudaMemPool_t *pool);
gm_status gm_cuda_copy(void *to, const void *from, int64_t bytes, gm_direction direction,
                       gm_stream stream);
gm_status gm_cuda_copy_rows(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                            int64_t width, int64_t rows, gm_direction direction, gm_stream stream);
gm_status gm_cuda_fill(void *to, int byte, int64_t bytes, gm_stream stream);

/* cuda_host.c */
gm_status gm_cuda_host_allocate(gm_memory_kind kind, int64_t bytes, void **address);
void gm_cuda_host_release(gm_memory_kind kind, void *address);
gm_memory_kind gm_cuda_host_kind(const void *address);
gm_status gm_cuda_migrate(void *address, int64_t bytes, bool to_device, gm_stream stream);

/* cuda_peer.c */
gm_status gm_cuda_can_reach(int device, int other, bool *can);
gm_status gm_cuda_let_reach(int device, int other, bool on, bool *before);
gm_status gm_cuda_send(void *to, int device, const void *from, int64_t bytes, gm_stream stream);

/* cuda_supports.c */
gm_status gm_cuda_supports(const gm_variant *variant, const gm_device_properties *device);
/* Or has the driver to compile PTX? */
bool gm_cuda_has_machine_code(const gm_device_properties *device);
/* Does the device run code that was compiled for this compute capability or a later one? */
bool gm_cuda_compiled_for(int capability, const gm_device_properties *device);

/* cuda_load.c */
/* Asks for so much device memory for what is named; the pool gives up what nobody uses of it. */
gm_status gm_cuda_make_room(const gm_cuda_device *device, size_t bytes, const char *what);
/* Has all kernels loaded on the current device; at the head of all that needs their code. */
gm_status gm_cuda_load(void);

/* cuda_launch.c */
gm_status gm_cuda_launch(const gm_variant *variant, const gm_plan *plan, gm_stream stream);
gm_status gm_cuda_cluster_blocks(const gm_variant *variant, int *blocks);
gm_status gm_cuda_attributes(const gm_variant *variant, const gm_plan *plan,
                             gm_attributes *attributes);

/* cuda_symbol.c, cuda_texture.c */
gm_status gm_cuda_symbol_address(const gm_symbol *symbol, bool traced, void **address);
gm_status gm_cuda_symbol_copy(const gm_symbol *symbol, bool traced, bool into, void *memory,
                              int64_t bytes, gm_stream stream);
gm_status gm_cuda_texture(gm_texture *texture, gm_stream stream);

/* cuda_tensor.c, cuda_cublas.c */
gm_status gm_cuda_tensor_map(const gm_tensor *tensor, gm_tensor_map *map);
gm_status gm_cuda_library(const char *name);

#endif
