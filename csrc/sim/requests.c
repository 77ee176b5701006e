/*
 * The requests of a warp whose lanes went different ways.
 *
 * Places of the code that all lanes come to equally often, and in the same order, are taken for
 * places where they meet: in the body of a loop, say, in which only some of them then store. From
 * one meeting to the next, the n-th access of a lane at a place belongs to the warp's n-th request
 * there.
 */
#include "sim/requests.h"

#include <stdlib.h>
#include <string.h>

typedef struct forming {
    const gm_access *stream;
    uint32_t count;
    int sites;
    uint32_t *meetings; /* of each access: how many its lane had before, it included */
    uint32_t *nth;      /* of its lane, at its place, since the last meeting */
    uint32_t *site;     /* its place */
    uint32_t *visits;   /* of each place and lane */
    uint32_t *walk;     /* the places where lanes meet, as the first lane came to them */
    uint32_t *spare, *places;
} forming;

static uint32_t *visits_at(const forming *f, const gm_access *access)
{
    return &f->visits[(size_t)access->site * GM_WARP + access->lane];
}

/* How often these lanes come to a place, if all do, and equally often; else 0. */
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

/* Numbers the meetings at these places; false if lanes come to them in different orders. */
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
 * Lanes may come equally often to places that are no meetings. If not all places fit together,
 * those of fewer visits come first, as those of an outer loop do, and others as far as they fit.
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

/* Sorts by a key, and leaves accesses of the same key in their order. */
static void sort_by(const forming *f, const uint32_t *key, uint32_t *order)
{
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

static int64_t form(forming *f, uint32_t *order, uint32_t *begins)
{
    int64_t requests = 0;
    find_meetings(f);
    number_accesses(f);
    for (uint32_t i = 0; i < f->count; i++) {
        order[i] = i;
    }
    sort_by(f, f->nth, order);
    sort_by(f, f->site, order);
    sort_by(f, f->meetings, order);
    for (uint32_t i = 0; i < f->count; i++) {
        const uint32_t now = order[i], last = i > 0 ? order[i - 1] : 0;
        if (i == 0 || f->meetings[now] != f->meetings[last] || f->site[now] != f->site[last] ||
            f->nth[now] != f->nth[last]) {
            begins[requests++] = i;
        }
    }
    begins[requests] = f->count;
    return requests;
}

/* Requests at one place since one meeting: of all their lanes, or of fewer and fewer. */
static void count_uncertain(const forming *f, const uint32_t *order, const uint32_t *begins,
                            int64_t requests, gm_site *places)
{
    for (int64_t first = 0, next; first < requests; first = next) {
        const uint32_t at = order[begins[first]];
        next = first + 1;
        while (next < requests && f->nth[order[begins[next]]] > 0) {
            next++;
        }
        const uint32_t most = begins[first + 1] - begins[first];
        const uint32_t fewest = begins[next] - begins[next - 1];
        if (fewest < most) {
            places[f->site[at]].uncertain += begins[next] - begins[first];
        }
    }
}

int64_t gm_requests_form(const gm_access *stream, uint32_t count, gm_site *places, int place_count,
                         uint32_t *order, uint32_t *begins)
{
    /* A key is the number of an access, of a meeting, which is an access too, or of a place. */
    const size_t all = (size_t)count + 2, table = ((size_t)place_count + 2) * GM_WARP;
    const size_t most = all > table ? all : table;
    uint32_t *memory = calloc(4 * all + table + 2 * most, sizeof *memory);
    if (!memory) {
        gm_fail(GM_ERROR_MEMORY, "out of memory for the requests of a warp");
        return -1;
    }
    forming f = {.stream = stream, .count = count, .sites = place_count, .meetings = memory};
    f.nth = f.meetings + all;
    f.site = f.nth + all;
    f.walk = f.site + all;
    f.visits = f.walk + all;
    f.places = f.visits + table;
    f.spare = f.places + most;
    int64_t requests = form(&f, order, begins);
    count_uncertain(&f, order, begins, requests, places);
    free(memory);
    return requests;
}
