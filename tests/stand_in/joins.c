/*
 * A backend whose streams only say who waits for whom, to see how memory/device.c orders a call on
 * memory of other libraries. Prints a line for each case: what joined whom, what was recorded, and
 * when the library got its memory back.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "memory/device.h"
#include "memory/held.h"

static gm_status join(gm_stream later, gm_stream earlier)
{
    printf(" %c<%c", later ? *(char *)later : '0', earlier ? *(char *)earlier : '0');
    return GM_OK;
}

static bool no_events, quiet;
static atomic_int done, returned; /* how many events are done, and how many owners are released */

static gm_status create(gm_event *event)
{
    static char made;
    *event = &made;
    return no_events ? gm_fail(GM_ERROR_CUDA, "no events") : GM_OK;
}

static gm_status record(gm_event event, gm_stream stream)
{
    if (quiet) {
        return GM_OK;
    }
    printf(" record:%c", event && stream ? *(char *)stream : '0');
    return GM_OK;
}

static gm_status follow(gm_stream stream, gm_event event)
{
    (void)stream, (void)event;
    printf(" settle");
    return GM_OK;
}

static gm_status query(gm_event event, bool *is)
{
    (void)event;
    *is = atomic_load(&returned) < atomic_load(&done);
    return GM_OK;
}

static gm_status wait_all(void)
{
    printf(" wait");
    return GM_OK;
}

static void forget(void *owner)
{
    atomic_fetch_add(&returned, 1);
    if (!quiet) {
        printf(" back:%c", *(char *)owner);
    }
}

static void destroy(gm_event event)
{
    (void)event;
}

static gm_status find(void *address, int64_t bytes, int *device)
{
    (void)address, (void)bytes;
    *device = 0;
    return GM_OK;
}

static void disown(void *address, int64_t bytes)
{
    (void)address, (void)bytes;
}

static gm_status use(int device, int *previous)
{
    *previous = device;
    return GM_OK;
}

static const gm_backend backend = {
    .stream_join = join,
    .event_create = create,
    .event_record = record,
    .event_done = query,
    .wait_all = wait_all,
    .event_destroy = destroy,
    .stream_follow = follow,
    .adopt = find,
    .disown = disown,
    .use_device = use,
};

/* A call on two arrays, whose libraries are on these streams. */
static void call(const char *name, gm_stream first, gm_stream second, gm_stream stream,
                 bool one_call)
{
    gm_stream producers[] = {first, second};
    gm_device_memory *memories[2];
    gm_joined before = {false, NULL}, after = {false, NULL};
    printf("%s:", name);
    for (int i = 0; i < 2; i++) {
        gm_device_memory_borrow(&backend, -1, producers, 8, &memories[i]);
        memories[i]->producer = producers[i];
        memories[i]->has_producer = memories[i]->behind = true;
        memories[i]->one_call = one_call;
    }
    for (int i = 0; i < 2; i++) {
        gm_device_memory_follow(memories[i], stream, &before);
    }
    printf(" run");
    for (int i = 0; i < 2; i++) {
        gm_device_memory_worked(memories[i], stream, stream != NULL, &after);
    }
    before = (gm_joined){false, NULL};
    gm_device_memory_follow(memories[0], stream, &before); /* it did already */
    printf(" end");
    for (int i = 0; i < 2; i++) {
        gm_device_memory_drop(memories[i]);
    }
    printf("\n");
}

/* A temporary of a library that said no stream, and that nothing refers to any more. */
static void drop_temporary(char *owner, gm_stream stream, bool works)
{
    gm_device_memory *memory;
    gm_joined before = {false, NULL}, after = {false, NULL};
    gm_device_memory_borrow(&backend, -1, owner, 8, &memory);
    memory->owner = owner;
    memory->forget = forget;
    if (works) {
        gm_device_memory_follow(memory, stream, &before);
        gm_device_memory_worked(memory, stream, stream != NULL, &after);
    }
    gm_device_memory_drop(memory);
}

/* Any array that is made asks what is done. */
static void make_another(void)
{
    gm_device_memory *memory;
    gm_device_memory_none(&backend, &memory);
    gm_device_memory_drop(memory);
}

static void temporaries(void)
{
    char a[] = "a", b[] = "b", c[] = "c", ours[] = "o";
    printf("unused:");
    drop_temporary(a, NULL, false);
    printf("\nqueued:");
    drop_temporary(a, NULL, true);
    make_another();
    printf(" later");
    atomic_store(&done, 2);
    make_another();
    printf("\nqueued on a stream:");
    drop_temporary(a, ours, true);
    printf(" later");
    atomic_store(&done, 3);
    gm_release_held();
    printf("\nin order:");
    drop_temporary(a, NULL, true);
    drop_temporary(b, NULL, true);
    drop_temporary(c, NULL, true);
    printf(" later");
    atomic_store(&done, 5);
    make_another();
    printf(" later");
    atomic_store(&done, 6);
    make_another();
    printf("\nwithout events:");
    no_events = true;
    drop_temporary(a, NULL, true);
    no_events = false;
    printf("\n");
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *drop_many(void *unused)
{
    char owner[] = "x";
    for (int i = 0; i < ROUNDS; i++) {
        drop_temporary(owner, NULL, true);
        atomic_fetch_add(&done, 1);
    }
    return unused;
}

/* Each comes back once, whoever asks. */
static void threads(void)
{
    pthread_t running[THREADS];
    int before = atomic_load(&returned);
    quiet = true;
    atomic_store(&done, before);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&running[i], NULL, drop_many, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(running[i], NULL);
    }
    gm_release_held();
    printf("of many threads: %d\n", atomic_load(&returned) - before);
}

int main(void)
{
    char a[] = "a", b[] = "b", ours[] = "o";
    call("one library", a, a, NULL, true);
    call("two libraries", a, b, NULL, true);
    call("on a stream", a, a, ours, true);
    call("kept", a, a, ours, false);
    temporaries();
    threads();
    return 0;
}
