/* Streams, events, and work that waits on them: it runs as late as it may. */
#define _GNU_SOURCE
#include "fake.h"

#include <stdlib.h>
#include <time.h>

struct CUstream_st {
    struct CUstream_st *next;
    int device;
    bool nonblocking, alive;
    uint64_t pushed, done; /* numbers of its latest work, and of the latest that has run */
    fake_work *first, **end;
};

struct CUevent_st {
    struct CUevent_st *next;
    bool alive, timed;
    fake_point point; /* where it was recorded last */
    double time;      /* milliseconds, when that had run */
};

typedef struct record_work {
    fake_work work;
    struct CUevent_st *event;
} record_work;

static struct CUstream_st *streams; /* all, also destroyed ones, which later ones reuse */
static struct CUevent_st *events;
static struct CUstream_st *legacy[FAKE_DEVICES], *per_thread[FAKE_DEVICES];
static uint64_t numbers;

/* ---- running ------------------------------------------------------------------------------- */

bool fake_is_done(fake_point point)
{
    return point.number == 0 || point.stream->done >= point.number;
}

fake_point fake_latest(struct CUstream_st *stream)
{
    return (fake_point){stream, stream->pushed};
}

static void run_first(struct CUstream_st *stream);

/* The work that other work waits for was pushed before: this ends. */
static void run_through(fake_point point)
{
    while (!fake_is_done(point) && point.stream->first) {
        run_first(point.stream);
    }
}

static void free_work(fake_work *work)
{
    if (work->drop) {
        work->drop(work);
    }
    free(work->after);
    free(work);
}

static void run_first(struct CUstream_st *stream)
{
    fake_work *work = stream->first;
    for (int i = 0; i < work->after_count; i++) {
        run_through(work->after[i]);
    }
    if (stream->first != work) {
        return; /* all was dropped: a kernel before it failed */
    }
    stream->first = work->next;
    stream->end = stream->first ? stream->end : &stream->first;
    if (work->run) {
        fake_open_memory(work->device, work->other);
        work->run(work);
        fake_close_memory();
    }
    stream->done = stream->done > work->number ? stream->done : work->number;
    free_work(work);
}

void fake_finish(struct CUstream_st *stream)
{
    run_through(fake_latest(stream));
}

void fake_finish_all(int device)
{
    for (struct CUstream_st *at = streams; at; at = at->next) {
        if (device < 0 || at->device == device) {
            fake_finish(at);
        }
    }
}

void fake_stir(void)
{
    int count = 0;
    for (struct CUstream_st *at = streams; at; at = at->next) {
        count += at->first != NULL;
    }
    int chosen = count > 0 ? (int)(fake_random() % (unsigned)count) : -1;
    for (struct CUstream_st *at = streams; at; at = at->next) {
        if (at->first && chosen-- == 0) {
            run_first(at);
            return;
        }
    }
}

void fake_drop_all(void)
{
    for (struct CUstream_st *at = streams; at; at = at->next) {
        fake_work *work = at->first;
        at->first = NULL;
        at->end = &at->first;
        at->done = at->pushed;
        while (work) {
            fake_work *next = work->next;
            free_work(work);
            work = next;
        }
    }
}

/* ---- pushing ------------------------------------------------------------------------------- */

void *fake_new_work(size_t bytes, void (*run)(fake_work *))
{
    fake_work *work = calloc(1, bytes);
    if (work) {
        work->run = run;
        work->device = work->other = fake_current_device();
    }
    return work;
}

static void wait_for(fake_work *work, fake_point point)
{
    if (!fake_is_done(point)) {
        fake_point *grown = realloc(work->after, (size_t)(work->after_count + 1) * sizeof *grown);
        if (!grown) {
            abort();
        }
        work->after = grown;
        grown[work->after_count++] = point;
    }
}

void fake_push(struct CUstream_st *stream, fake_work *work)
{
    struct CUstream_st *all = legacy[stream->device];
    for (struct CUstream_st *at = streams; stream == all && at; at = at->next) {
        if (at->device == stream->device && !at->nonblocking && at != stream) {
            wait_for(work, fake_latest(at));
        }
    }
    if (stream != all && all && !stream->nonblocking) {
        wait_for(work, fake_latest(all));
    }
    work->number = stream->pushed = ++numbers;
    *stream->end = work;
    stream->end = &work->next;
}

/* ---- streams ------------------------------------------------------------------------------- */

static struct CUstream_st *make_stream(int device, bool nonblocking)
{
    struct CUstream_st *at = streams;
    while (at && (at->alive || at->first)) {
        at = at->next;
    }
    if (!at) {
        at = calloc(1, sizeof *at);
        if (!at) {
            return NULL;
        }
        at->next = streams;
        at->end = &at->first;
        streams = at;
    }
    at->device = device;
    at->nonblocking = nonblocking;
    at->alive = true;
    return at;
}

struct CUstream_st *fake_stream(cudaStream_t handle)
{
    int device = fake_current_device();
    if (handle == NULL || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
        struct CUstream_st **kept = handle == cudaStreamPerThread ? per_thread : legacy;
        kept[device] = kept[device] ? kept[device] : make_stream(device, false);
        return kept[device];
    }
    for (struct CUstream_st *at = streams; at; at = at->next) {
        if (at == handle && at->alive) {
            return at;
        }
    }
    fake_complain("a stream that was destroyed");
    return NULL;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    FAKE_BEGIN();
    *stream = make_stream(fake_current_device(), flags == cudaStreamNonBlocking);
    return fake_leave(*stream ? cudaSuccess : cudaErrorMemoryAllocation);
}

/* Its work still runs. */
cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    cudaError_t error = fake_enter(__func__);
    struct CUstream_st *stream = fake_stream(handle);
    if (stream) {
        stream->alive = false;
    }
    return fake_leave(stream ? error : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned *flags)
{
    FAKE_BEGIN();
    struct CUstream_st *stream = fake_stream(handle);
    *flags = stream && stream->nonblocking ? cudaStreamNonBlocking : cudaStreamDefault;
    return fake_leave(stream ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    FAKE_BEGIN();
    struct CUstream_st *stream = fake_stream(handle);
    if (!stream) {
        return fake_leave(cudaErrorInvalidResourceHandle);
    }
    if (stream == legacy[stream->device]) { /* which waits as its next work would */
        fake_work *work = fake_new_work(sizeof *work, NULL);
        if (!work) {
            return fake_leave(cudaErrorMemoryAllocation);
        }
        fake_push(stream, work);
    }
    fake_finish(stream);
    return fake_leave(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    FAKE_BEGIN();
    struct CUstream_st *stream = fake_stream(handle);
    if (!stream) {
        return fake_leave(cudaErrorInvalidResourceHandle);
    }
    if (!stream->first) {
        return fake_leave(cudaSuccess);
    }
    run_first(stream);
    return fake_leave(cudaErrorNotReady);
}

cudaError_t cudaDeviceSynchronize(void)
{
    FAKE_BEGIN();
    fake_finish_all(fake_current_device());
    return fake_leave(cudaSuccess);
}

int64_t fake_live_streams(void)
{
    int64_t count = 0;
    for (struct CUstream_st *at = streams; at; at = at->next) {
        bool own = at != legacy[at->device] && at != per_thread[at->device];
        count += at->alive && own;
    }
    return count;
}

/* ---- events -------------------------------------------------------------------------------- */

static struct CUevent_st *find_event(cudaEvent_t handle)
{
    for (struct CUevent_st *at = events; at; at = at->next) {
        if (at == handle && at->alive) {
            return at;
        }
    }
    fake_complain("an event that was destroyed");
    return NULL;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    FAKE_BEGIN();
    struct CUevent_st *at = events;
    while (at && (at->alive || !fake_is_done(at->point))) {
        at = at->next;
    }
    if (!at) {
        at = calloc(1, sizeof *at);
        if (!at) {
            return fake_leave(cudaErrorMemoryAllocation);
        }
        at->next = events;
        events = at;
    }
    at->alive = true;
    at->timed = (flags & cudaEventDisableTiming) == 0;
    at->point = (fake_point){NULL, 0};
    *event = at;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
    cudaError_t error = fake_enter(__func__);
    struct CUevent_st *event = find_event(handle);
    if (event) {
        event->alive = false;
    }
    return fake_leave(event ? error : cudaErrorInvalidResourceHandle);
}

static void run_record(fake_work *work)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ((record_work *)work)->event->time = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t on)
{
    FAKE_BEGIN();
    struct CUevent_st *event = find_event(handle);
    struct CUstream_st *stream = fake_stream(on);
    record_work *record = fake_new_work(sizeof *record, run_record);
    if (!event || !stream || !record) {
        free(record);
        return fake_leave(cudaErrorInvalidResourceHandle);
    }
    record->event = event;
    fake_push(stream, &record->work);
    event->point = fake_latest(stream);
    return fake_leave(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    FAKE_BEGIN();
    struct CUevent_st *event = find_event(handle);
    if (!event) {
        return fake_leave(cudaErrorInvalidResourceHandle);
    }
    if (fake_is_done(event->point)) {
        return fake_leave(cudaSuccess);
    }
    run_first(event->point.stream);
    return fake_leave(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    FAKE_BEGIN();
    struct CUevent_st *event = find_event(handle);
    if (event) {
        run_through(event->point);
    }
    return fake_leave(event ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    FAKE_BEGIN();
    struct CUevent_st *first = find_event(from), *second = find_event(to);
    if (!first || !second || !first->timed || !second->timed || first->point.number == 0 ||
        second->point.number == 0) {
        return fake_leave(cudaErrorInvalidResourceHandle);
    }
    if (!fake_is_done(first->point) || !fake_is_done(second->point)) {
        return fake_leave(cudaErrorNotReady);
    }
    *milliseconds = (float)(second->time - first->time);
    return fake_leave(cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t awaited, unsigned flags)
{
    FAKE_BEGIN();
    (void)flags;
    struct CUevent_st *event = find_event(awaited);
    struct CUstream_st *stream = fake_stream(handle);
    fake_work *work = fake_new_work(sizeof *work, NULL);
    if (!event || !stream || !work) {
        free(work);
        return fake_leave(cudaErrorInvalidResourceHandle);
    }
    wait_for(work, event->point);
    fake_push(stream, work);
    return fake_leave(cudaSuccess);
}

int64_t fake_live_events(void)
{
    int64_t count = 0;
    for (struct CUevent_st *at = events; at; at = at->next) {
        count += at->alive;
    }
    return count;
}
