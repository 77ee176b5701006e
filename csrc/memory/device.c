/* Device memory: counted references, and the streams that work on it. */
#include "memory/device.h"

#include <stdlib.h>

#include "fork_lock.h"
#include "memory/held.h"

/* Guards all lists of uses, which are short and rare. */
GM_CHILD_LOCK(lock);

gm_status gm_device_memory_none(const gm_backend *backend, gm_device_memory **memory)
{
    gm_release_held();
    *memory = calloc(1, sizeof **memory);
    if (!*memory) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for an array's description");
    }
    atomic_init(&(*memory)->references, 1);
    (*memory)->backend = backend;
    return GM_OK;
}

gm_status gm_device_memory_new(const gm_backend *backend, int64_t bytes, gm_device_memory **memory)
{
    gm_status status = gm_device_memory_none(backend, memory);
    if (status == GM_OK) {
        status = backend->current_device(&(*memory)->device);
    }
    if (status == GM_OK) {
        status = backend->allocate(bytes, NULL, &(*memory)->address);
    }
    if (status != GM_OK) {
        free(*memory);
        *memory = NULL;
        return status;
    }
    (*memory)->allocated = true;
    return GM_OK;
}

gm_status gm_device_memory_borrow(const gm_backend *backend, int device, void *address,
                                  int64_t bytes, gm_device_memory **memory)
{
    gm_status status = gm_device_memory_none(backend, memory);
    if (status == GM_OK) {
        (*memory)->device = device;
        status = bytes > 0 ? backend->adopt(address, bytes, &(*memory)->device)
                           : backend->current_device(&(*memory)->device);
    }
    if (status != GM_OK) {
        free(*memory);
        *memory = NULL;
        return status;
    }
    (*memory)->address = address;
    (*memory)->borrowed = bytes;
    return GM_OK;
}

gm_device_memory *gm_device_memory_keep(gm_device_memory *memory)
{
    atomic_fetch_add_explicit(&memory->references, 1, memory_order_relaxed);
    return memory;
}

/*
 * Are there any uses? Every call asks, so this takes no lock: uses that a call has to wait for were
 * recorded before the call began, and whoever empties the list sets the count after waiting.
 */
static bool is_used(const gm_device_memory *memory)
{
    return atomic_load_explicit(&memory->use_count, memory_order_acquire) > 0;
}

static void set_use_count(gm_device_memory *memory, int count)
{
    atomic_store_explicit(&memory->use_count, count, memory_order_release);
}

/* Falls back to waiting on the host. */
static gm_status wait_for(const gm_backend *backend, const gm_use *use)
{
    gm_status status = backend->stream_follow(NULL, use->done);
    if (status != GM_OK) {
        status = backend->wait_all();
    }
    return status;
}

gm_status gm_device_memory_settle(gm_device_memory *memory)
{
    gm_status status = GM_OK;
    if (!is_used(memory)) {
        return GM_OK;
    }
    pthread_mutex_lock(&lock);
    gm_use *uses = memory->uses;
    for (int i = 0; i < memory->use_count; i++) {
        gm_status one = wait_for(memory->backend, &uses[i]);
        memory->backend->event_destroy(uses[i].done);
        status = status == GM_OK ? one : status;
    }
    set_use_count(memory, 0);
    memory->uses = NULL;
    pthread_mutex_unlock(&lock);
    free(uses);
    return status;
}

gm_status gm_device_memory_finish(gm_device_memory *memory)
{
    const gm_backend *backend = memory->backend;
    gm_event now;
    gm_status status = gm_device_memory_settle(memory);
    if (status == GM_OK) {
        status = backend->event_create(&now);
    }
    if (status != GM_OK) {
        return status;
    }
    /* An event on the default stream comes after the work of all streams that are not nonblocking,
     * and waiting for the default stream waits for the event. */
    status = backend->event_record(now, NULL);
    if (status == GM_OK) {
        status = backend->wait(NULL);
    }
    backend->event_destroy(now);
    return status;
}

/* Would another library reuse the memory while the device works on it? Not on the host, where calls
 * are complete when they return, nor if the library's stream waits for each call. */
static bool is_held(const gm_device_memory *memory)
{
    return memory->owner && atomic_load_explicit(&memory->worked, memory_order_relaxed) &&
           !memory->has_producer && !memory->backend->host_memory;
}

/* An earlier failure may not have been raised yet: its error record stays. */
static void finish_later(gm_device_memory *memory, bool held)
{
    gm_error before = *gm_last_error();
    int previous;
    gm_status here = memory->backend->use_device(memory->device, &previous);
    gm_device_memory_settle(memory);
    if (held) {
        gm_hold(memory->backend, memory->owner, memory->forget);
    }
    if (here == GM_OK) {
        memory->backend->use_device(previous, &previous);
    }
    gm_set_last_error(&before);
}

void gm_device_memory_drop(gm_device_memory *memory)
{
    if (!memory || atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    bool held = is_held(memory);
    if (is_used(memory) || held) {
        finish_later(memory, held);
    }
    if (memory->allocated) {
        memory->backend->release(memory->address, NULL);
    }
    if (memory->borrowed > 0) {
        memory->backend->disown(memory->address, memory->borrowed);
    }
    if (memory->owner && !held) {
        memory->forget(memory->owner);
    }
    free(memory);
}

/* Not on the simulator, which knows who has borrowed what. */
bool gm_device_memory_end_loan(gm_device_memory *memory)
{
    if (!memory->one_call || !memory->has_producer || memory->borrowed == 0 ||
        memory->backend->host_memory || is_used(memory) ||
        atomic_load_explicit(&memory->references, memory_order_acquire) != 1) {
        return false;
    }
    if (memory->owner) { /* the producer's stream waits for our work, so that nobody else has to */
        memory->forget(memory->owner);
        memory->owner = NULL;
    }
    return true;
}

void gm_device_memory_begin_loan(gm_device_memory *memory)
{
    gm_release_held();
    atomic_store_explicit(&memory->worked, false, memory_order_relaxed);
    memory->managed = false;
    memory->has_producer = false;
    memory->behind = false;
    memory->one_call = false;
}

static gm_use *find_use(gm_device_memory *memory, gm_stream stream)
{
    for (int i = 0; i < memory->use_count; i++) {
        if (memory->uses[i].stream == stream) {
            return &memory->uses[i];
        }
    }
    return NULL;
}

static gm_status record(gm_device_memory *memory, gm_stream stream)
{
    const gm_backend *backend = memory->backend;
    gm_use *use = find_use(memory, stream);
    if (use) {
        /* The handle may belong to a new stream by now, which then follows the old one's work. */
        gm_status status = backend->stream_follow(stream, use->done);
        return status == GM_OK ? backend->event_record(use->done, stream) : status;
    }
    gm_event done;
    gm_status status = backend->event_create(&done);
    if (status != GM_OK) {
        return status;
    }
    status = backend->event_record(done, stream);
    gm_use *grown = status == GM_OK
                        ? realloc(memory->uses, (size_t)(memory->use_count + 1) * sizeof *grown)
                        : NULL;
    if (!grown) {
        backend->event_destroy(done);
        return status != GM_OK ? status
                               : gm_fail(GM_ERROR_MEMORY, "out of memory for a list of streams");
    }
    memory->uses = grown;
    grown[memory->use_count] = (gm_use){stream, done};
    set_use_count(memory, memory->use_count + 1);
    return GM_OK;
}

/* Records that a nonblocking stream was just given work on the memory. */
static gm_status used(gm_device_memory *memory, gm_stream stream)
{
    pthread_mutex_lock(&lock);
    gm_status status = record(memory, stream);
    pthread_mutex_unlock(&lock);
    if (status != GM_OK) {
        gm_error before = *gm_last_error();
        memory->backend->wait(stream); /* then there is nothing to record */
        gm_set_last_error(&before);
    }
    return status;
}

/* Is the memory's producer to be joined? From now on it is. */
static bool is_new(const gm_device_memory *memory, gm_joined *joined)
{
    bool known = joined->any && joined->producer == memory->producer;
    *joined = (gm_joined){true, memory->producer};
    return !known;
}

gm_status gm_device_memory_follow(gm_device_memory *memory, gm_stream stream, gm_joined *joined)
{
    bool behind = memory->behind;
    if (behind) { /* only while one thread has the array */
        memory->behind = false;
    }
    atomic_store_explicit(&memory->worked, true, memory_order_relaxed);
    return behind && is_new(memory, joined) ? memory->backend->stream_join(stream, memory->producer)
                                            : GM_OK;
}

gm_status gm_device_memory_worked(gm_device_memory *memory, gm_stream stream, bool nonblocking,
                                  gm_joined *joined)
{
    gm_status status = GM_OK;
    if (nonblocking && !(memory->one_call && memory->has_producer)) {
        status = used(memory, stream);
    }
    return status == GM_OK && memory->has_producer && is_new(memory, joined)
               ? memory->backend->stream_join(memory->producer, stream)
               : status;
}
