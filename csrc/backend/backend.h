/*
 * A backend runs plans: cuda on a GPU, sim on the simulator.
 *
 * Each is a table of functions. A function that can fail returns a gm_status and fills in the error
 * record. Backends know nothing of arrays, families or Python.
 */
#ifndef GPUMEM_BACKEND_H
#define GPUMEM_BACKEND_H

#include "backend/symbol.h"
#include "gpumem.h"
#include "texture_object.h"

typedef enum gm_direction {
    GM_TO_DEVICE,
    GM_TO_HOST,
    GM_WITHIN,
} gm_direction;

/* Of a pool, which keeps released memory for the next allocation. */
typedef struct gm_pool_sizes {
    int64_t reserved_bytes; /* held, in use or not */
    int64_t used_bytes;
    int64_t limit_bytes; /* free memory beyond this goes back to the system */
} gm_pool_sizes;

/* A property that the backend does not have is 0. */
struct gm_device_properties {
    char name[256];
    int capability; /* compute capability times ten: 90 */
    int multiprocessors;
    int warp_size;
    int threads_per_multiprocessor;
    int blocks_per_multiprocessor;
    int64_t l2_bytes;
    int64_t shared_per_block; /* largest a kernel can opt in to */
    int64_t shared_per_multiprocessor;
    int64_t constant_bytes;
    int64_t memory_bytes;
    int64_t max_grid_x;
    int clock_khz;        /* highest of the multiprocessors */
    int memory_clock_khz; /* highest of the memory */
    int memory_bus_bits;
    int fp32_lanes;     /* per multiprocessor */
    int cluster_blocks; /* of a cluster of any kernel; 0 too where none was compiled for one */
    int pci_domain, pci_bus, pci_device;
    bool managed; /* concurrent managed access: host and device may both access managed memory */
};

/* What a kernel uses, as compiled for the current device. */
typedef struct gm_attributes {
    int registers;        /* per thread */
    int64_t local_bytes;  /* per thread: spills and indexed private arrays */
    int64_t shared_bytes; /* per block, static */
    int64_t constant_bytes;
    int max_threads;    /* per block */
    int blocks;         /* resident per multiprocessor at the variant's block size */
    double occupancy;   /* resident threads / the most possible, 0..1 */
    int binary_version; /* capability times ten of the machine code, also of PTX compiled at load */
} gm_attributes;

typedef void *gm_event;

struct gm_backend {
    const char *name;
    bool asynchronous; /* a call returns before its work is done */
    bool host_memory; /* its memory is the host's: lent to others as such, on no stream of theirs */
    bool traces;      /* runs kernels under observation: see gm_call.trace */

    /* Makes the backend ready; cheap if it is. With GM_ERROR_UNAVAILABLE the error says why not. */
    gm_status (*open)(void);
    int (*device_count)(void);
    gm_status (*current_device)(int *device);
    /* Makes a device the thread's current one; *previous is the one before. */
    gm_status (*use_device)(int device, int *previous);
    /* The pointer stays valid. */
    gm_status (*properties)(int device, const gm_device_properties **properties);
    gm_status (*memory)(int64_t *free_bytes, int64_t *total_bytes);
    /* Can a device with these properties run the variant at all? If not, the error says why. */
    gm_status (*supports)(const gm_variant *variant, const gm_device_properties *device);

    /* At least 256-byte aligned, never NULL on success, also for 0 bytes. In the order of a stream:
     * what is released there is used again by work on it at once, and by other streams when the
     * work before the release has ended. NULL is the default stream, for which all streams wait
     * that are not nonblocking. */
    gm_status (*allocate)(int64_t bytes, gm_stream stream, void **address);
    void (*release)(void *address, gm_stream stream);
    /* Registers memory of another library for use in place, until disown. *device is where the
     * library's own code says that it is, or -1, and becomes where it is; fails if no device can
     * reach it. */
    gm_status (*adopt)(void *address, int64_t bytes, int *device);
    void (*disown)(void *address, int64_t bytes);
    /* The pool of released device memory; pool_trim returns it to the system. */
    gm_status (*pool)(gm_pool_sizes *sizes);
    gm_status (*pool_trim)(void);
    /* Host memory of any kind but GM_PAGEABLE, aligned to 4096 bytes; see memory/host.h. */
    gm_status (*host_allocate)(gm_memory_kind kind, int64_t bytes, void **address);
    void (*host_release)(gm_memory_kind kind, void *address);
    /* The kind of memory that others allocated; GM_PAGEABLE if the device cannot access it. */
    gm_memory_kind (*host_kind)(const void *address);
    /* Migrates managed memory to the device or to the host, in the order of the stream. */
    gm_status (*migrate)(void *address, int64_t bytes, bool to_device, gm_stream stream);
    /* Asynchronous if the memory allows it: wait for the stream before accessing host memory. */
    gm_status (*copy)(void *to, const void *from, int64_t bytes, gm_direction direction,
                      gm_stream stream);
    /* The same for rows of `width` bytes at a pitch. */
    gm_status (*copy_rows)(void *to, int64_t to_pitch, const void *from, int64_t from_pitch,
                           int64_t width, int64_t rows, gm_direction direction, gm_stream stream);
    /* Can kernels and copies of a device access the memory of another, if let_reach allows it? */
    gm_status (*can_reach)(int device, int other, bool *can);
    /* Allows or forbids that; *before says whether it was allowed. */
    gm_status (*let_reach)(int device, int other, bool on, bool *before);
    /* From the current device to another: directly if that is allowed, else through the host. */
    gm_status (*send)(void *to, int device, const void *from, int64_t bytes, gm_stream stream);
    gm_status (*fill)(void *to, int byte, int64_t bytes, gm_stream stream);
    gm_status (*launch)(const gm_variant *variant, const gm_plan *plan, gm_stream stream);
    /* Blocks of the largest cluster of this variant's blocks, which may be more than the device
     * promises for every kernel; 0: it has no clusters. */
    gm_status (*cluster_blocks)(const gm_variant *variant, int *blocks);
    gm_status (*wait)(gm_stream stream); /* for all work on the stream */
    gm_status (*wait_all)(void);         /* for all work on the device */

    gm_status (*stream_create)(gm_stream *stream);
    void (*stream_destroy)(gm_stream stream);
    /* Do the stream and the default stream not wait for each other? */
    gm_status (*stream_is_nonblocking)(gm_stream stream, bool *nonblocking);
    /* Further work on `later` waits for the work that is on `earlier` now. */
    gm_status (*stream_join)(gm_stream later, gm_stream earlier);
    gm_status (*event_create)(gm_event *event);
    void (*event_destroy)(gm_event event);
    gm_status (*event_record)(gm_event event, gm_stream stream);
    gm_status (*event_done)(gm_event event, bool *done); /* has the work before it ended? */
    /* Further work on the stream waits for a recorded event. */
    gm_status (*stream_follow)(gm_stream stream, gm_event event);
    /* Milliseconds between two recorded events; waits for the second. */
    gm_status (*event_elapsed)(gm_event from, gm_event to, float *milliseconds);

    gm_status (*attributes)(const gm_variant *variant, const gm_plan *plan,
                            gm_attributes *attributes);
    /* The address of a variable on the current device; traced: the traced kernels' variable. */
    gm_status (*symbol_address)(const gm_symbol *symbol, bool traced, void **address);
    /* Copies between a variable and device memory, `into` the variable or out of it. */
    gm_status (*symbol_copy)(const gm_symbol *symbol, bool traced, bool into, void *memory,
                             int64_t bytes, gm_stream stream);
    /* Encodes a matrix for the tensor copy engine. */
    gm_status (*tensor_map)(const gm_tensor *tensor, gm_tensor_map *map);
    /* Makes a texture of the matrix that *texture describes, after the work on the stream. Each
     * device has one: callers serialize its use. */
    gm_status (*texture)(gm_texture *texture, gm_stream stream);
    /* Opens a library ("cublas"); GM_ERROR_UNAVAILABLE says why it cannot be used. */
    gm_status (*library)(const char *name);
    /* Versions for info(): "13.0", driver "13.0"; empty where there is none. */
    void (*versions)(char runtime[32], char driver[32]);
};

extern const gm_backend gm_cuda;
extern const gm_backend gm_sim;

/* All backends, the preferred one first. */
extern const gm_backend *const gm_backends[];
extern const int gm_backend_count;

/* Writes the paths, each ended by a newline, where a library may be that the loader does not find.
 */
typedef void (*gm_library_hook)(const char *name, char *paths, size_t room);
extern gm_library_hook gm_library_paths;

/* "cuda", "sim", or NULL and "auto" for the preferred one that opens. */
gm_status gm_backend_get(const char *name, const gm_backend **backend);
/* NULL if no backend has this name. It may not open. */
const gm_backend *gm_backend_named(const char *name);
/* The backend whose memory is the host's, or the one with memory of its own. */
const gm_backend *gm_backend_with_memory(bool of_host);
/* The backend that runs kernels under observation. */
const gm_backend *gm_backend_with_traces(void);

/* Memory that the kernels of a call leave something in for each other. The next call on the stream
 * may have it again, so it is released as soon as they are launched. */
static inline gm_status gm_scratch(const gm_call *call, int64_t bytes, void **address)
{
    return call->backend->allocate(bytes, call->stream, address);
}

static inline void gm_scratch_release(const gm_call *call, void *address)
{
    call->backend->release(address, call->stream);
}

/* Launches a kernel whose variable gets `bytes` of device memory first. */
gm_status gm_launch_with_symbol(const gm_symbol *symbol, const void *from, int64_t bytes,
                                const gm_variant *variant, const gm_call *call,
                                const gm_plan *plan);

/* Makes a device the current one again; the error record stays what it was. */
void gm_backend_go_back(const gm_backend *backend, int device);

#endif
