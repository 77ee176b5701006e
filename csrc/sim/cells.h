/*
 * What threads did to memory, word by word: the accesses that a later one may race with.
 *
 * An event is what the lanes of a warp do on one line between two of the warp's ordering events.
 * Events have ascending numbers. Each word has a cell, which keeps the last event that wrote, the
 * last one that read, and a list of others. A page of cells has one for each word of four bytes
 * until a narrower access comes, and then one for each byte.
 */
#ifndef GPUMEM_SIM_CELLS_H
#define GPUMEM_SIM_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gm_event {
    int64_t block;
    uint32_t interval, tick, site;
    uint16_t warp;
    uint8_t kind, strength, scope;
} gm_event;

/* The events of global memory, or those of a block's shared memory since its last barrier. */
typedef struct gm_event_log {
    gm_event *events;
    uint32_t first, count, room; /* the number of events[0]; never 0 */
    uint32_t now;                /* first event of the present moment */
    uint32_t interval;           /* first event of the present block since its last barrier */
    uint32_t *here;              /* per site: its last event */
    int here_room;
} gm_event_log;

enum {
    GM_PAGE_BITS = 14,
    GM_PAGE_BYTES = 1 << GM_PAGE_BITS,
    GM_MOST_RECORDS = (1 << 25) - 1,
};

typedef struct gm_cell {
    uint32_t write, read; /* events; 0: none */
    uint32_t read_lanes;
    uint32_t write_lane : 5;
    uint32_t by_blocks : 1; /* two blocks have read */
    uint32_t by_warps : 1;  /* two warps have read in the interval of `read` */
    uint32_t more : 25;     /* first of the list of others; 0: none. Not newer than both above */
} gm_cell;

typedef struct gm_cell_record {
    uint32_t next, event, lanes;
} gm_cell_record;

typedef struct gm_cell_records {
    gm_cell_record *list; /* from 1 */
    uint32_t count, room, idle;
} gm_cell_records;

typedef struct gm_cell_page {
    bool fine; /* a cell per byte */
    gm_cell cells[];
} gm_cell_page;

/* Functions that return bool return false when memory ran out. */

/* Adds the event, which is the last of its site; `sites` is how many there may be. */
bool gm_event_add(gm_event_log *log, gm_event event, int sites);
void gm_event_log_free(gm_event_log *log);

static inline const gm_event *gm_event_at(const gm_event_log *log, uint32_t number)
{
    return &log->events[number - log->first];
}

/* Puts a record at the head of the cell's list. */
bool gm_cell_add(gm_cell_records *records, gm_cell *cell, uint32_t event, uint32_t lanes);
/* Takes a record out of the cell's list, behind `before` (0: it is the head). */
void gm_cell_remove(gm_cell_records *records, gm_cell *cell, uint32_t before, uint32_t index);
/* Empties the cell. */
void gm_cell_clear(gm_cell_records *records, gm_cell *cell);

/* Empty places for the pages of so many bytes; NULL when memory ran out. */
gm_cell_page **gm_pages_create(size_t bytes);
void gm_pages_free(gm_cell_page **pages, size_t bytes);
/* Makes a page, or gives it a cell per byte. NULL when memory ran out. */
gm_cell_page *gm_page_make(gm_cell_records *records, gm_cell_page **at, bool fine);

#endif
