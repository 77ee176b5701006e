/*
 * A backend whose streams only say who waits for whom, to see how memory/device.c orders a call on
 * memory of other libraries. Prints a line for each case: what joined whom, and what was recorded.
 */
#include <stdio.h>

#include "memory/device.h"

static gm_status join(gm_stream later, gm_stream earlier)
{
    printf(" %c<%c", later ? *(char *)later : '0', earlier ? *(char *)earlier : '0');
    return GM_OK;
}

static gm_status create(gm_event *event)
{
    *event = "event";
    return GM_OK;
}

static gm_status record(gm_event event, gm_stream stream)
{
    printf(" record:%c", event && stream ? *(char *)stream : '0');
    return GM_OK;
}

static gm_status follow(gm_stream stream, gm_event event)
{
    (void)stream, (void)event;
    printf(" settle");
    return GM_OK;
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
        gm_device_memory_borrow(&backend, producers, 8, &memories[i]);
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

int main(void)
{
    char a[] = "a", b[] = "b", ours[] = "o";
    call("one library", a, a, NULL, true);
    call("two libraries", a, b, NULL, true);
    call("on a stream", a, a, ours, true);
    call("kept", a, a, ours, false);
    return 0;
}
