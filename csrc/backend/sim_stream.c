/*
 * Streams of the simulator: work is done on the caller's own thread when a call returns, whatever
 * its stream. There are no times, and so no events.
 */
#include <stdlib.h>

#include "backend/sim_internal.h"

gm_status gm_sim_wait(gm_stream stream)
{
    (void)stream;
    return GM_OK;
}

gm_status gm_sim_wait_all(void)
{
    return GM_OK;
}

/* A handle only has to be a distinct address. */
gm_status gm_sim_stream_create(gm_stream *stream)
{
    *stream = malloc(1);
    return *stream ? GM_OK : gm_fail(GM_ERROR_MEMORY, "out of memory for a stream");
}

void gm_sim_stream_destroy(gm_stream stream)
{
    free(stream);
}

gm_status gm_sim_stream_is_nonblocking(gm_stream stream, bool *apart)
{
    (void)stream;
    *apart = false;
    return GM_OK;
}

gm_status gm_sim_stream_join(gm_stream later, gm_stream earlier)
{
    (void)later;
    (void)earlier;
    return GM_OK;
}

static gm_status event_unavailable(void)
{
    return gm_fail(GM_ERROR_UNAVAILABLE, "the simulator has no times, so it has no events");
}

gm_status gm_sim_event_create(gm_event *event)
{
    (void)event;
    return event_unavailable();
}

void gm_sim_event_destroy(gm_event event)
{
    (void)event;
}

gm_status gm_sim_event_record(gm_event event, gm_stream stream)
{
    (void)event;
    (void)stream;
    return event_unavailable();
}

gm_status gm_sim_event_done(gm_event event, bool *done)
{
    (void)event;
    (void)done;
    return event_unavailable();
}

gm_status gm_sim_stream_follow(gm_stream stream, gm_event event)
{
    (void)stream;
    (void)event;
    return event_unavailable();
}

gm_status gm_sim_event_elapsed(gm_event from, gm_event to, float *milliseconds)
{
    (void)from;
    (void)to;
    (void)milliseconds;
    return event_unavailable();
}
