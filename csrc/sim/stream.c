/* The accesses of a warp: in steps while its lanes do the same, else in a list. */
#include "sim/shapes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void gm_stream_free(gm_warp_stream *stream)
{
    free(stream->steps);
    free(stream->shapes);
    free(stream->list);
    *stream = (gm_warp_stream){.steps = NULL};
}

void gm_stream_clear(gm_warp_stream *stream)
{
    stream->thread = -1;
    stream->lanes = 0;
    stream->length = 0;
    stream->listed = false;
    stream->list_count = 0;
    stream->next = stream->past = stream->steps;
}

void gm_stream_reset(gm_warp_stream *stream)
{
    gm_stream_clear(stream);
    stream->made = 0;
    for (int64_t i = 0; stream->shapes && i < stream->room; i++) {
        stream->shapes[i].lanes = 0;
    }
}

void gm_stream_forget(gm_warp_stream *stream, uintptr_t begin)
{
    int64_t made = stream->next - stream->steps;
    made = stream->made > made ? stream->made : made;
    for (int64_t i = 0; i < made; i++) {
        gm_step *step = &stream->steps[i];
        step->span = step->begin == begin ? 0 : step->span;
    }
}

static gm_status out_of_memory(int64_t accesses)
{
    return gm_fail(GM_ERROR_MEMORY,
                   "out of memory for the accesses of a warp, %lld so far; trace a smaller shape",
                   (long long)accesses);
}

/* ---- the list ------------------------------------------------------------------------------ */

static gm_status append(gm_warp_stream *stream, gm_access access)
{
    if (stream->list_count == stream->list_room) {
        int64_t room = stream->list_room ? 2 * stream->list_room : 16 * 1024;
        /* Accesses are numbered in 32 bits. */
        gm_access *list =
            room <= UINT32_MAX ? realloc(stream->list, (size_t)room * sizeof *list) : NULL;
        if (!list) {
            return out_of_memory(stream->list_count);
        }
        stream->list = list;
        stream->list_room = room;
    }
    stream->list[stream->list_count++] = access;
    return GM_OK;
}

/* Lists the accesses that have been made so far, lane by lane. */
static gm_status list_steps(gm_warp_stream *stream)
{
    gm_status status = GM_OK;
    for (int i = 0; i < stream->lanes; i++) {
        const gm_step *past = gm_stream_past(stream, i);
        for (const gm_step *step = stream->steps; step < past && status == GM_OK; step++) {
            status = append(stream, gm_step_access(step, stream, i));
        }
    }
    stream->listed = true;
    stream->next = stream->past = stream->steps;
    return status;
}

bool gm_stream_copy(gm_warp_stream *to, const gm_warp_stream *from)
{
    size_t steps = (size_t)(from->next - from->steps), listed = (size_t)from->list_count;
    if ((int64_t)steps > to->room) {
        free(to->steps);
        to->steps = malloc(steps * sizeof *to->steps);
        to->room = to->steps ? (int64_t)steps : 0;
    }
    if ((int64_t)listed > to->list_room) {
        free(to->list);
        to->list = malloc(listed * sizeof *to->list);
        to->list_room = to->list ? (int64_t)listed : 0;
    }
    if ((steps && !to->steps) || (listed && !to->list)) {
        return false;
    }
    to->thread = from->thread;
    to->lanes = from->lanes;
    to->length = from->length;
    to->listed = from->listed;
    to->list_count = from->list_count;
    memcpy(to->lane, from->lane, sizeof to->lane);
    if (steps) {
        memcpy(to->steps, from->steps, steps * sizeof *to->steps);
    }
    if (listed) {
        memcpy(to->list, from->list, listed * sizeof *to->list);
    }
    to->next = to->past = to->steps + steps;
    return true;
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Has the running lane made as many accesses as each before it? */
static bool complete(gm_warp_stream *stream)
{
    if (stream->lanes == 1) {
        stream->length = stream->next - stream->steps;
    }
    return stream->next == stream->steps + stream->length;
}

gm_status gm_stream_turn(gm_warp_stream *stream, int thread)
{
    uint8_t lane = (uint8_t)(thread % GM_WARP);
    bool goes_on = stream->thread == thread;
    stream->thread = thread;
    if (!goes_on && !stream->listed && stream->lanes > 0 &&
        (!complete(stream) || lane <= stream->lane[stream->lanes - 1])) {
        return list_steps(stream);
    }
    if (!goes_on && !stream->listed) {
        stream->lane[stream->lanes++] = lane;
        stream->next = stream->steps;
    }
    stream->past = stream->listed
                       ? stream->next
                       : stream->steps + (stream->lanes == 1 ? stream->made : stream->length);
    return GM_OK;
}

/* The first lane goes on with a step at this site, instead of what was predicted if that is not. */
static gm_status make_room(gm_warp_stream *stream, uint32_t site)
{
    int64_t at = stream->next - stream->steps;
    if (at == stream->room) {
        int64_t room = stream->room ? 2 * stream->room : 64;
        gm_step *steps = realloc(stream->steps, (size_t)room * sizeof *steps);
        stream->steps = steps ? steps : stream->steps;
        gm_shape *shapes = steps ? realloc(stream->shapes, (size_t)room * sizeof *shapes) : NULL;
        if (!shapes) {
            return out_of_memory(at);
        }
        memset(&shapes[at], 0, (size_t)(room - at) * sizeof *shapes);
        stream->shapes = shapes;
        stream->room = room;
        stream->next = steps + at;
    }
    if (at >= stream->made || stream->next->site != site) {
        stream->made = at + 1;
    }
    stream->past = stream->steps + stream->made;
    return GM_OK;
}

gm_status gm_stream_add(gm_warp_stream *stream, const gm_step *step)
{
    const gm_access_call *call = &step->call;
    gm_access access = {call->address, call->bytes, step->site,
                        (uint8_t)(stream->thread % GM_WARP)};
    gm_status status = GM_OK;
    if (stream->listed) {
        return append(stream, access);
    }
    if (stream->lanes == 1) {
        status = make_room(stream, step->site);
    } else if (stream->next == stream->past || stream->next->site != step->site ||
               stream->next->call.bytes != call->bytes) {
        status = list_steps(stream);
        return status == GM_OK ? append(stream, access) : status;
    }
    if (status == GM_OK) {
        gm_step *at = stream->next++;
        memcpy(at, step, offsetof(gm_step, address)); /* keeps the addresses of other lanes */
        at->address[stream->lanes - 1] = call->address;
    }
    return status;
}

gm_status gm_stream_end(gm_warp_stream *stream)
{
    return stream->listed || complete(stream) ? GM_OK : list_steps(stream);
}
