/*
 * A stand-in for the CUDA runtime, with which the real csrc/backend/cuda*.c run without a GPU.
 *
 * What it imitates: devices; streams, whose work is deferred as long as CUDA allows (until somebody
 * waits for it, or a call happens to let some of it run), so that a missing wait shows as a wrong
 * result; the default stream, which waits for blocking streams and they for it; events; memory of
 * the device, which is reused as early as the order of streams allows, is filled with FAKE_JUNK,
 * and, after fake_cuda_protect, cannot be touched by the host; page-locked and managed memory;
 * peers; pools; errors, kept per thread until taken, and sticky ones. What CUDA leaves undefined (a
 * handle that was destroyed, bytes outside of an allocation) is a complaint, see
 * fake_cuda_complaint.
 *
 * Kernels are the simulator's plain ones: the linker gives each host stub's name to one.
 *
 * What it does not: time, the speed of anything, capture, graphs, loaded modules. Kernels with
 * textures read the matrix itself instead of its array, all devices share a variable, and all
 * threads one per-thread default stream. Programmatic launches start when the work before them has
 * ended.
 */
#ifndef GPUMEM_FAKE_CUDA_H
#define GPUMEM_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tests call the runtime too, as another library in the process would. */
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

enum {
    FAKE_DEVICES = 2,
    FAKE_JUNK = 0xDB,
};

/* ---- calls.c: what each call begins and ends with ---------------------------------------------
 */

/* Takes the lock, counts the call and lets some work run. Returns the error that the call is to
 * fail with: one that was asked for, or a sticky one. */
cudaError_t fake_enter(const char *call);
/* Remembers the error, gives the lock back and returns the error. */
cudaError_t fake_leave(cudaError_t error);
/* The caller did what CUDA leaves undefined. Returns the error for it. */
cudaError_t fake_complain(const char *what);
/* From now on every call fails. */
void fake_lose(cudaError_t error, const char *why);
bool fake_is_lost(void);
uint64_t fake_random(void);
int fake_current_device(void);
int fake_most_blocks(void); /* of a grid, along x */
bool fake_has_clusters(void);

/* Opens a function whose failed call does nothing. */
#define FAKE_BEGIN()                                                                               \
    do {                                                                                           \
        cudaError_t fault_ = fake_enter(__func__);                                                 \
        if (fault_ != cudaSuccess)                                                                 \
            return fake_leave(fault_);                                                             \
    } while (0)

/* ---- queue.c: streams, events and the work on them --------------------------------------------
 */

/* Some work: everything on the stream up to this number. */
typedef struct fake_point {
    struct CUstream_st *stream;
    uint64_t number; /* 0: nothing */
} fake_point;

typedef struct fake_work {
    struct fake_work *next;
    uint64_t number;
    void (*run)(struct fake_work *work); /* NULL: nothing but the order */
    void (*drop)(struct fake_work *work);
    fake_point *after;
    int after_count;
    int device, other; /* whose memory it may touch */
} fake_work;

/* The stream that a handle means; NULL, after a complaint, if there is none. */
struct CUstream_st *fake_stream(cudaStream_t handle);
/* Some work of its own size for a stream; NULL if the host has no memory. */
void *fake_new_work(size_t bytes, void (*run)(fake_work *));
void fake_push(struct CUstream_st *stream, fake_work *work);
void fake_finish(struct CUstream_st *stream);
void fake_finish_all(int device); /* -1: of all devices */
bool fake_is_done(fake_point point);
fake_point fake_latest(struct CUstream_st *stream);
/* Runs some work of some stream, or none. */
void fake_stir(void);
/* Forgets all work. */
void fake_drop_all(void);
int64_t fake_live_streams(void);
int64_t fake_live_events(void);

/* ---- memory.c: allocations --------------------------------------------------------------------
 */

/* The kind of the memory that holds all these bytes; cudaMemoryTypeUnregistered if it is the
 * host's own. False, after a complaint, if some are outside of an allocation. */
bool fake_find(const void *address, size_t bytes, enum cudaMemoryType *kind, int *device);
/* Lets this thread touch the memory that work of the devices may touch, and no other. */
void fake_open_memory(int device, int other);
void fake_close_memory(void);
int64_t fake_live_memory(bool of_host);
/* work.c */
int64_t fake_live_textures(void);

#endif
