/*
 * The accesses that the lanes of a warp have made since they last met.
 *
 * Lanes run one after another and mostly do the same, so that the n-th accesses of all of them make
 * a step. A step knows its source line and the memory around it: an access of a lane that follows
 * only has to be compared with it. When a lane does otherwise, the accesses are listed one by one.
 */
#ifndef GPUMEM_SIM_STREAM_H
#define GPUMEM_SIM_STREAM_H

#include "sim/hooks.h"
#include "sim/spaces.h"

typedef struct gm_access {
    uintptr_t address;
    uint32_t bytes;
    uint32_t site;
    uint8_t lane;
} gm_access;

typedef struct gm_step {
    /* Accesses by `call.code` of this kind and width, at addresses that are multiples of align + 1
     * among the `span` ones from `begin`, are usual: there is nothing to find out about them. Of
     * other accesses span is 0. */
    uintptr_t begin, span;
    uint32_t align;
    gm_space space;
    gm_access_call call; /* the last lane's that did not repeat the step */
    uint32_t site;
    int global;                 /* index of the region, if the space is global */
    uintptr_t address[GM_WARP]; /* per lane, of call.bytes */
} gm_step;

typedef struct gm_warp_stream {
    gm_step *steps;
    struct gm_shape *shapes; /* of the steps' requests, see shapes.h */
    int64_t made, room;      /* steps[made - 1] is the last; those of an earlier warp are kept as
                                predictions for the first lane */
    gm_step *next, *past;    /* of the running lane: its next step, and past the last that it may
                                repeat; past NULL: another lane may be about to run */
    int thread;              /* whose accesses came last; -1: there are none */
    int lanes;               /* in the order of `lane`, the running one included */
    int64_t length;          /* steps of each lane but the running one */
    uint8_t lane[GM_WARP];

    bool listed; /* the accesses are in the list, not in steps */
    gm_access *list;
    int64_t list_count, list_room;
} gm_warp_stream;

void gm_stream_free(gm_warp_stream *stream);
/* Forgets all accesses. */
void gm_stream_clear(gm_warp_stream *stream);
/* Forgets the predictions too: memory has moved. */
void gm_stream_reset(gm_warp_stream *stream);

/* Nothing is known any more of accesses to the memory that begins here. */
void gm_stream_forget(gm_warp_stream *stream, uintptr_t begin);

/* A thread of the warp is about to run, maybe another one. */
static inline void gm_stream_pause(gm_warp_stream *stream)
{
    stream->past = NULL;
}
/* The next accesses are those of this thread. */
static inline bool gm_stream_is_turn(const gm_warp_stream *stream, int thread)
{
    return stream->thread == thread && stream->past;
}
gm_status gm_stream_turn(gm_warp_stream *stream, int thread);
/* Adds an access of the running thread; address and bytes are those of the step's call. */
gm_status gm_stream_add(gm_warp_stream *stream, const gm_step *step);
/* No more accesses follow. Are all of them in steps? If not, in the list. */
gm_status gm_stream_end(gm_warp_stream *stream);
/* Copies the accesses of an ended stream; false when memory ran out. */
bool gm_stream_copy(gm_warp_stream *to, const gm_warp_stream *from);

/* Past the last step of the n-th of the lanes. */
static inline const gm_step *gm_stream_past(const gm_warp_stream *stream, int n)
{
    return n == stream->lanes - 1 ? stream->next : stream->steps + stream->length;
}

static inline gm_access gm_step_access(const gm_step *step, const gm_warp_stream *stream, int n)
{
    return (gm_access){step->address[n], step->call.bytes, step->site, stream->lane[n]};
}

/* Does the running thread repeat the next step? Then the access is added. By `code` all accesses
 * have the width and the kind of the step. */
static inline bool gm_stream_repeat(gm_warp_stream *stream, const void *code, uintptr_t address)
{
    gm_step *step = stream->next;
    if (step >= stream->past || step->call.code != code || address - step->begin >= step->span ||
        address & step->align) {
        return false;
    }
    stream->next = step + 1;
    step->address[stream->lanes - 1] = address;
    return true;
}

#endif
