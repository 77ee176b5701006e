/*
 * Turns of threads that spin: which threads give way to others, and whether a thread still does
 * something new.
 *
 * Traced, a thread is looked at from time to time. It spins if many accesses in a row are to few
 * places, and gives way to the other threads of its warp, its block and the grid. This depends on
 * the accesses alone, and so not on the host. At full speed a timer interrupts threads (preempt.h).
 *
 * A turn is idle if the thread was before in the state, of its registers and its stack, in which
 * the turn ends; a loop that counts its tries never is. Traced, an idle turn also accesses the same
 * places as the one before it and changes no memory.
 */
#ifndef GPUMEM_SIM_TURNS_H
#define GPUMEM_SIM_TURNS_H

#include <stdbool.h>
#include <stdint.h>

enum { GM_PLACES = 1024 }; /* more than these are no spin */

/* A look at the running thread. */
typedef struct gm_turn {
    int patience; /* accesses until there is a look, or the next access of one */
    int thread;   /* that is looked at; -1: none */
    int last;     /* that gave way */
    bool resumed; /* it has spun before */
    bool changed; /* memory */
    int accesses, places;
    int64_t idle;   /* accesses of idle turns so far */
    uint64_t trail; /* of all places, in any order */
    const void *code;
    uintptr_t address; /* of the last access */
    uint32_t bytes;
    /* A store that the thread is about to make. */
    uintptr_t store;
    uint32_t store_bytes;
    unsigned char before[16];
    uint64_t place[2 * GM_PLACES];
} gm_turn;

gm_turn *gm_turn_create(void);

/* The running thread is about to make this access, which patience does not cover any more. Should
 * it give way? */
bool gm_turn_look(gm_turn *turn, int thread, const void *code, uintptr_t address, uint32_t bytes);
/* It is about to store, and the access is valid. */
void gm_turn_store(gm_turn *turn, uintptr_t address, uint32_t bytes);
/* The running thread gives way, in a state in which it was before (`again`) or was not. Was the
 * turn idle? */
bool gm_turn_end(gm_turn *turn, int thread, bool again, uint64_t *trail);
/* A thread that gave way goes on. */
void gm_turn_begin(gm_turn *turn, int thread);

enum { GM_STATES = 128 }; /* kept per thread */

/* A thread gave way in this state: has it been in it before? */
bool gm_turn_seen(uint64_t *states, uint64_t state);
uint64_t gm_turn_hash(uint64_t hash, const void *memory, uintptr_t bytes);

#endif
