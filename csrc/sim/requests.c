/*
 * Sorts the accesses of a warp into requests.
 *
 * In the usual case all lanes made the same accesses in the same order. Where lanes went different
 * ways, the sites that all lanes reach equally often, and in the same order, are taken for places
 * where they meet: those in the body of a loop, say, in which only some of the lanes then store.
 * From one meeting to the next, the n-th access of a lane at a site belongs to the warp's n-th
 * request there.
 */
#include "sim/requests.h"

#include <stdlib.h>
#include <string.h>

/* Adds what observers would otherwise find out one by one. */
static void measure(gm_request *request)
{
    uintptr_t begin = request->address[0], end = begin + request->bytes[0];
    uint32_t widest = request->bytes[0];
    bool gapless = true;
    for (int i = 1; i < request->lanes; i++) {
        uintptr_t first = request->address[i], past = first + request->bytes[i];
        gapless &= first >= begin && first <= end;
        begin = first < begin ? first : begin;
        end = past > end ? past : end;
        widest = request->bytes[i] > widest ? request->bytes[i] : widest;
    }
    request->begin = begin;
    request->end = end;
    request->widest = widest;
    request->gapless = gapless;
}

/* ---- all lanes alike ---------------------------------------------------------------------- */

void gm_request_of_step(gm_request *request, const gm_warp_stream *stream, gm_sites *sites,
                        int64_t n, int lanes)
{
    const gm_step *step = &stream->steps[n];
    gm_shape *shape = gm_shape_of(stream, n, lanes);
    request->site = &sites->list[step->site];
    if (request->widest != shape->bytes) {
        for (int lane = 0; lane < GM_WARP; lane++) {
            request->bytes[lane] = shape->bytes;
        }
    }
    request->lanes = lanes;
    request->widest = shape->bytes;
    request->gapless = shape->gapless;
    request->begin = step->address[0] + shape->low;
    request->end = request->begin + shape->length;
    request->address = step->address;
    request->shape = shape;
}

static gm_status emit_steps(const gm_warp_stream *stream, gm_sites *sites, gm_request_sink sink,
                            void *context)
{
    gm_status status = GM_OK;
    gm_request request = {.widest = 0};
    memcpy(request.lane, stream->lane, sizeof request.lane);
    for (int64_t i = 0; i < stream->length && status == GM_OK; i++) {
        gm_request_of_step(&request, stream, sites, i, stream->lanes);
        status = sink(context, &request);
    }
    return status;
}

/* ---- lanes that went different ways --------------------------------------------------------- */

typedef struct forming {
    const gm_access *stream;
    uint32_t count;
    int sites;
    /* Per access: */
    uint32_t *meetings; /* meetings of its lane so far, itself included */
    uint32_t *nth;      /* earlier accesses of its lane to its site since the last meeting */
    uint32_t *site;
    uint32_t *order;  /* the accesses, sorted by request and lane */
    uint32_t *begins; /* where each request begins in `order`, and one more for the end */

    uint32_t *visits; /* per site and lane */
    uint32_t *walk;   /* the sites where lanes meet, in the order of the first lane */
    uint32_t *spare, *places;
} forming;

static uint32_t *visits_at(const forming *f, const gm_access *access)
{
    return &f->visits[(size_t)access->site * GM_WARP + access->lane];
}

/* How often each of these lanes reaches a site, if all do so equally often; else 0. */
static uint32_t equal_visits(const forming *f, int site, uint32_t lanes)
{
    const uint32_t *visits = &f->visits[(size_t)site * GM_WARP];
    const uint32_t first = visits[__builtin_ctz(lanes)];
    for (int lane = 0; lane < GM_WARP; lane++) {
        if (lanes >> lane & 1 && visits[lane] != first) {
            return 0;
        }
    }
    return first;
}

/* Numbers the meetings at these sites; false if lanes reach the sites in different orders. */
static bool number_meetings(forming *f, const bool *meeting)
{
    const uint8_t first = f->stream[0].lane;
    uint32_t length = 0, met[GM_WARP] = {0};
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->stream[i].lane == first && meeting[f->stream[i].site]) {
            f->walk[length++] = f->stream[i].site;
        }
    }
    for (uint32_t i = 0; i < f->count; i++) {
        const gm_access *access = &f->stream[i];
        if (meeting[access->site] && f->walk[met[access->lane]++] != access->site) {
            return false;
        }
        f->meetings[i] = met[access->lane];
    }
    return true;
}

/*
 * Lanes may reach a site equally often without meeting there. If not all such sites fit together,
 * those with fewer visits, as of an outer loop, take precedence; others count where they fit.
 */
static void find_meetings(forming *f)
{
    uint32_t lanes = 0, most = 0;
    uint32_t *equal = f->spare;
    bool *meeting = (bool *)f->places;
    for (uint32_t i = 0; i < f->count; i++) {
        lanes |= 1u << f->stream[i].lane;
        ++*visits_at(f, &f->stream[i]);
    }
    for (int site = 0; site < f->sites; site++) {
        equal[site] = equal_visits(f, site, lanes);
        meeting[site] = equal[site] > 0;
        most = equal[site] > most ? equal[site] : most;
    }
    if (number_meetings(f, meeting)) {
        return;
    }
    for (int site = 0; site < f->sites; site++) {
        meeting[site] = false;
    }
    for (uint32_t visits = 1, next; visits <= most; visits = next) {
        next = most + 1;
        for (int site = 0; site < f->sites; site++) {
            if (equal[site] == visits) {
                meeting[site] = true;
                meeting[site] = number_meetings(f, meeting);
            } else if (equal[site] > visits && equal[site] < next) {
                next = equal[site];
            }
        }
    }
    number_meetings(f, meeting);
}

static void number_accesses(forming *f)
{
    uint32_t *since = f->places; /* the meeting since which visits are counted */
    memset(f->visits, 0, (size_t)f->sites * GM_WARP * sizeof *f->visits);
    memset(since, 0, (size_t)f->sites * GM_WARP * sizeof *since);
    for (uint32_t i = 0; i < f->count; i++) {
        const gm_access *access = &f->stream[i];
        uint32_t *visits = visits_at(f, access), *last = &since[visits - f->visits];
        if (*last != f->meetings[i]) {
            *last = f->meetings[i];
            *visits = 0;
        }
        f->nth[i] = (*visits)++;
        f->site[i] = access->site;
    }
}

/* A stable sort by a key. */
static void sort_by(forming *f, const uint32_t *key)
{
    uint32_t *order = f->order;
    uint32_t most = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        most = key[i] > most ? key[i] : most;
    }
    memset(f->places, 0, ((size_t)most + 2) * sizeof *f->places);
    for (uint32_t i = 0; i < f->count; i++) {
        f->places[key[i] + 1]++;
    }
    for (uint32_t k = 0; k < most; k++) {
        f->places[k + 1] += f->places[k];
    }
    for (uint32_t i = 0; i < f->count; i++) {
        f->spare[f->places[key[order[i]]]++] = order[i];
    }
    memcpy(order, f->spare, f->count * sizeof *order);
}

/* Returns the number of requests. */
static uint32_t sort_into_requests(forming *f)
{
    uint32_t requests = 0;
    find_meetings(f);
    number_accesses(f);
    for (uint32_t i = 0; i < f->count; i++) {
        f->order[i] = i;
    }
    sort_by(f, f->nth);
    sort_by(f, f->site);
    sort_by(f, f->meetings);
    for (uint32_t i = 0; i < f->count; i++) {
        const uint32_t now = f->order[i], last = i > 0 ? f->order[i - 1] : 0;
        if (i == 0 || f->meetings[now] != f->meetings[last] || f->site[now] != f->site[last] ||
            f->nth[now] != f->nth[last]) {
            f->begins[requests++] = i;
        }
    }
    f->begins[requests] = f->count;
    return requests;
}

static gm_status emit(const forming *f, uint32_t index, bool uncertain, gm_sites *sites,
                      gm_request_sink sink, void *context)
{
    const uint32_t *order = &f->order[f->begins[index]];
    uintptr_t address[GM_WARP];
    gm_request request = {
        .site = &sites->list[f->stream[order[0]].site],
        .address = address,
        .lanes = (int)(f->begins[index + 1] - f->begins[index]),
        .uncertain = uncertain,
    };
    for (int lane = 0; lane < request.lanes; lane++) {
        const gm_access *access = &f->stream[order[lane]];
        address[lane] = access->address;
        request.bytes[lane] = access->bytes;
        request.lane[lane] = access->lane;
    }
    measure(&request);
    return sink(context, &request);
}

/* Requests of one site since one meeting follow one another. If they are not all of the same
 * lanes, then it is not certain which accesses go together. */
static gm_status emit_all(const forming *f, uint32_t requests, gm_sites *sites,
                          gm_request_sink sink, void *context)
{
    gm_status status = GM_OK;
    for (uint32_t first = 0, next; first < requests && status == GM_OK; first = next) {
        next = first + 1;
        while (next < requests && f->nth[f->order[f->begins[next]]] > 0) {
            next++;
        }
        const uint32_t most = f->begins[first + 1] - f->begins[first];
        const uint32_t fewest = f->begins[next] - f->begins[next - 1];
        for (uint32_t i = first; i < next && status == GM_OK; i++) {
            status = emit(f, i, fewest < most, sites, sink, context);
        }
    }
    return status;
}

static gm_status form_any(const gm_warp_stream *stream, gm_sites *sites, gm_request_sink sink,
                          void *context)
{
    /* A key is the number of an access, of a meeting, which is an access too, or of a site. */
    const size_t all = (size_t)stream->list_count + 2, table = ((size_t)sites->count + 2) * GM_WARP;
    const size_t most = all > table ? all : table;
    uint32_t *memory = calloc(6 * all + table + 2 * most, sizeof *memory);
    if (!memory) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the requests of a warp");
    }
    forming f = {
        .stream = stream->list,
        .count = (uint32_t)stream->list_count,
        .sites = sites->count,
        .meetings = memory,
    };
    f.nth = f.meetings + all;
    f.site = f.nth + all;
    f.order = f.site + all;
    f.begins = f.order + all;
    f.walk = f.begins + all;
    f.visits = f.walk + all;
    f.places = f.visits + table;
    f.spare = f.places + most;
    uint32_t requests = sort_into_requests(&f);
    gm_status status = emit_all(&f, requests, sites, sink, context);
    free(memory);
    return status;
}

gm_status gm_requests_form(const gm_warp_stream *stream, gm_sites *sites, gm_request_sink sink,
                           void *context)
{
    return stream->listed ? form_any(stream, sites, sink, context)
                          : emit_steps(stream, sites, sink, context);
}
