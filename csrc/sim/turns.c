/* Turns of threads that spin: looks at their accesses and at their states. */
#include "sim/turns.h"

#include <stdlib.h>
#include <string.h>

enum {
    PATIENCE = 4 * 1024, /* accesses between two looks at a thread */
    LOOK = 512,          /* accesses of a look that can end; more for more places */
    PER_PLACE = 8,       /* so often a spin comes back to a place during a look */
    LEAST = 64,          /* accesses for which a turn counts that ends by itself */
    NEW = 64,            /* places that may be new before that is asked for */
};

gm_turn *gm_turn_create(void)
{
    gm_turn *turn = calloc(1, sizeof *turn);
    if (turn) {
        turn->patience = PATIENCE;
        turn->thread = -1;
    }
    return turn;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t gm_turn_hash(uint64_t hash, const void *memory, uintptr_t bytes)
{
    const char *from = memory;
    for (uint64_t word; bytes >= sizeof word; from += sizeof word, bytes -= sizeof word) {
        memcpy(&word, from, sizeof word);
        hash = mix(hash, word);
    }
    return hash;
}

/* ---- accesses ------------------------------------------------------------------------------ */

static void start(gm_turn *turn, int thread, bool resumed)
{
    turn->thread = thread;
    turn->resumed = resumed;
    turn->changed = false;
    turn->accesses = turn->places = 0;
    turn->trail = 0;
    turn->store_bytes = 0;
    turn->patience = 1;
    memset(turn->place, 0, sizeof turn->place);
}

static void leave_alone(gm_turn *turn)
{
    turn->thread = -1;
    turn->patience = PATIENCE;
}

/* The last store has been made by now. */
static void finish_store(gm_turn *turn)
{
    const size_t bytes = turn->store_bytes;
    turn->changed =
        turn->changed || (bytes > 0 && memcmp(turn->before, (const void *)turn->store, bytes) != 0);
    turn->store_bytes = 0;
}

static void note_place(gm_turn *turn, const void *code, uintptr_t address)
{
    uint64_t place = mix(mix(1, (uintptr_t)code), address) | 1;
    for (uint64_t slot = place >> 8;; slot++) {
        uint64_t *there = &turn->place[slot % (2 * GM_PLACES)];
        if (*there == place) {
            return;
        }
        if (*there == 0) {
            *there = place;
            turn->trail += place;
            turn->places++;
            return;
        }
    }
}

bool gm_turn_look(gm_turn *turn, int thread, const void *code, uintptr_t address, uint32_t bytes)
{
    if (turn->thread >= 0 && turn->thread != thread) {
        leave_alone(turn); /* the other one has stopped before it could be said to spin */
        return false;
    }
    if (turn->thread != thread) {
        start(turn, thread, false);
    }
    finish_store(turn);
    turn->patience = 1;
    note_place(turn, code, address);
    turn->accesses++;
    turn->code = code;
    turn->address = address;
    turn->bytes = bytes;
    if (turn->places > NEW + turn->accesses / PER_PLACE || turn->places == GM_PLACES) {
        leave_alone(turn);
        return false;
    }
    return turn->accesses >= LOOK && turn->accesses >= PER_PLACE * turn->places;
}

void gm_turn_store(gm_turn *turn, uintptr_t address, uint32_t bytes)
{
    turn->changed = turn->changed || bytes > sizeof turn->before;
    turn->store = address;
    turn->store_bytes = bytes <= sizeof turn->before ? bytes : 0;
    memcpy(turn->before, (const void *)address, turn->store_bytes);
}

bool gm_turn_end(gm_turn *turn, int thread, bool again, uint64_t *trail)
{
    bool looked = turn->thread == thread, idle = false;
    if (looked) {
        finish_store(turn);
        /* Without any access it may wait for a clock. */
        idle = turn->resumed && turn->places > 0 && !turn->changed && turn->trail == *trail;
    }
    *trail = looked ? turn->trail : 0;
    turn->last = thread;
    idle = idle && again;
    turn->idle += idle ? LEAST + turn->accesses : 0;
    leave_alone(turn);
    return idle;
}

void gm_turn_begin(gm_turn *turn, int thread)
{
    start(turn, thread, true);
}

/* ---- states -------------------------------------------------------------------------------- */

/* states[0] is the credit of a thread that was in a state again: its other states will come again,
 * too, though not all have been seen. */
bool gm_turn_seen(uint64_t *states, uint64_t state)
{
    enum { CREDIT = 8 };
    uint64_t *credit = states, *list = states + 1;
    int count = 0;
    for (uint64_t slot = (state |= 1) >> 8; count < GM_STATES - 1; slot++, count++) {
        uint64_t *there = &list[slot % (GM_STATES - 1)];
        if (*there == state) {
            *credit = CREDIT;
            return true;
        }
        if (*there == 0) {
            *there = state;
            *credit -= *credit > 0;
            return *credit > 0;
        }
    }
    memset(states, 0, GM_STATES * sizeof *states); /* too many for a spin */
    return false;
}
