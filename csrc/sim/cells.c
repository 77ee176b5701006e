/* Events, and the cells that keep them for each word of memory. */
#include "sim/cells.h"

#include <stdlib.h>
#include <string.h>

/* ---- events ------------------------------------------------------------------------------- */

bool gm_event_add(gm_event_log *log, gm_event event, int sites)
{
    if (sites > log->here_room) {
        uint32_t *here = realloc(log->here, (size_t)sites * sizeof *here);
        if (!here) {
            return false;
        }
        memset(&here[log->here_room], 0, (size_t)(sites - log->here_room) * sizeof *here);
        log->here = here;
        log->here_room = sites;
    }
    if (log->count == log->room) {
        uint32_t room = log->room ? 2 * log->room : 256;
        gm_event *events =
            room < UINT32_MAX / 2 ? realloc(log->events, room * sizeof *events) : NULL;
        if (!events) {
            return false;
        }
        log->events = events;
        log->room = room;
    }
    log->events[log->count] = event;
    log->here[event.site] = log->first + log->count++;
    return true;
}

void gm_event_log_free(gm_event_log *log)
{
    free(log->events);
    free(log->here);
}

/* ---- cells -------------------------------------------------------------------------------- */

static uint32_t take(gm_cell_records *records)
{
    uint32_t index = records->idle;
    if (index) {
        records->idle = records->list[index].next;
        return index;
    }
    if (records->count + 1 >= records->room) {
        uint32_t room = records->room ? 2 * records->room : 1024;
        gm_cell_record *list =
            records->count < GM_MOST_RECORDS ? realloc(records->list, room * sizeof *list) : NULL;
        if (!list) {
            return 0;
        }
        records->list = list;
        records->room = room;
    }
    return ++records->count;
}

bool gm_cell_add(gm_cell_records *records, gm_cell *cell, uint32_t event, uint32_t lanes)
{
    uint32_t index = take(records);
    if (!index) {
        return false;
    }
    records->list[index] = (gm_cell_record){cell->more, event, lanes};
    cell->more = index & GM_MOST_RECORDS;
    return true;
}

static void give(gm_cell_records *records, uint32_t index)
{
    records->list[index].next = records->idle;
    records->idle = index;
}

void gm_cell_remove(gm_cell_records *records, gm_cell *cell, uint32_t before, uint32_t index)
{
    uint32_t next = records->list[index].next;
    if (before) {
        records->list[before].next = next;
    } else {
        cell->more = next & GM_MOST_RECORDS;
    }
    give(records, index);
}

void gm_cell_clear(gm_cell_records *records, gm_cell *cell)
{
    for (uint32_t index = cell->more; index;) {
        uint32_t next = records->list[index].next;
        give(records, index);
        index = next;
    }
    *cell = (gm_cell){.write = 0};
}

/* ---- pages -------------------------------------------------------------------------------- */

static size_t page_count(size_t bytes)
{
    return (bytes + GM_PAGE_BYTES - 1) / GM_PAGE_BYTES;
}

gm_cell_page **gm_pages_create(size_t bytes)
{
    return calloc(page_count(bytes), sizeof(gm_cell_page *));
}

void gm_pages_free(gm_cell_page **pages, size_t bytes)
{
    for (size_t i = 0; pages && i < page_count(bytes); i++) {
        free(pages[i]);
    }
    free(pages);
}

static gm_cell_page *make_page(bool fine)
{
    size_t cells = fine ? GM_PAGE_BYTES : GM_PAGE_BYTES / 4;
    gm_cell_page *made = calloc(1, sizeof *made + cells * sizeof(gm_cell));
    if (made) {
        made->fine = fine;
    }
    return made;
}

/* The cell of a word becomes those of its bytes. */
static bool split_cell(gm_cell_records *records, const gm_cell *from, gm_cell to[4])
{
    bool ok = true;
    for (int i = 0; i < 4; i++) {
        to[i] = *from;
        to[i].more = 0;
        for (uint32_t index = from->more; index && ok; index = records->list[index].next) {
            gm_cell_record one = records->list[index];
            ok = gm_cell_add(records, &to[i], one.event, one.lanes);
        }
    }
    return ok;
}

static gm_cell_page *split_page(gm_cell_records *records, gm_cell_page *coarse)
{
    gm_cell_page *made = make_page(true);
    bool ok = made;
    for (int i = 0; i < GM_PAGE_BYTES / 4 && ok; i++) {
        ok = split_cell(records, &coarse->cells[i], &made->cells[(ptrdiff_t)4 * i]);
        gm_cell_clear(records, &coarse->cells[i]);
    }
    if (!ok) {
        free(made);
        return NULL;
    }
    free(coarse);
    return made;
}

gm_cell_page *gm_page_make(gm_cell_records *records, gm_cell_page **at, bool fine)
{
    if (!*at) {
        *at = make_page(fine);
    } else if (fine && !(*at)->fine) {
        gm_cell_page *made = split_page(records, *at);
        *at = made ? made : *at;
        return made;
    }
    return *at;
}
