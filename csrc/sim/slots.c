/*
 * Slots of address space. They come in chunks, each a reservation of which only touched pages take
 * memory. A few slots that were freed last keep their pages: touching new ones is slow.
 */
#define _GNU_SOURCE
#include "sim/slots.h"

#include <stdlib.h>
#include <sys/mman.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

enum {
    SIZE_CLASSES = 12, /* 64 KiB, and 1 MiB to 1 GiB in powers of two */
    MOST_IN_CHUNK = 512,
};
static const size_t chunk_bytes = 4096 * MIB;

typedef struct chunk {
    struct chunk *next;
    uintptr_t base;
    size_t pitch;
    int used, count;
    gm_slot slots[];
} chunk;

typedef struct queue {
    gm_slot *first, *last;
    int count;
} queue;

/* Free slots: with pages, the oldest first, and without. */
typedef struct size_class {
    queue warm;
    gm_slot *cold;
    chunk *newest;
} size_class;

static size_class classes[SIZE_CLASSES];
static chunk *chunks;

/* Round sizes fit with their guards. */
static size_t most_bytes(int class)
{
    return 8 * KIB + (class == 0 ? 64 * KIB : MIB << (class - 1));
}

static size_t pitch_of(int class)
{
    return 2 * MIB << (class > 0 ? class - 1 : 0);
}

/* How many free slots keep their pages. */
static int most_warm(int class)
{
    return class == 0 ? 64 : pitch_of(class) <= 32 * MIB ? 6 : 0;
}

/* How many of those are not taken again yet: the more, the longer is freed memory known as such,
 * and the colder are the caches. */
static int resting(int class)
{
    return class == 0 ? 32 : pitch_of(class) <= 16 * MIB ? 1 : 0;
}

static bool add_chunk(int class)
{
    size_t pitch = pitch_of(class);
    size_t count = chunk_bytes / pitch < MOST_IN_CHUNK ? chunk_bytes / pitch : MOST_IN_CHUNK;
    chunk *made = calloc(1, sizeof *made + count * sizeof *made->slots);
    if (!made) {
        return false;
    }
    void *base = mmap(NULL, count * pitch, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        free(made);
        return false;
    }
    /* Huge pages are fast where one does not hold several slots. */
    (void)madvise(base, count * pitch, pitch <= 4 * MIB ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    made->base = (uintptr_t)base;
    made->pitch = pitch;
    made->count = (int)count;
    made->next = chunks;
    chunks = classes[class].newest = made;
    return true;
}

static gm_slot *fresh(int class)
{
    chunk *from = classes[class].newest;
    if (!from || from->used == from->count) {
        if (!add_chunk(class)) {
            return NULL;
        }
        from = classes[class].newest;
    }
    gm_slot *slot = &from->slots[from->used];
    /* Half of the gap before, half behind. */
    slot->address = from->base + (size_t)from->used * from->pitch + from->pitch / 4;
    slot->size_class = class;
    from->used++;
    return slot;
}

static gm_slot *pop(queue *warm)
{
    gm_slot *slot = warm->first;
    warm->first = slot->next;
    warm->count--;
    return slot;
}

gm_slot *gm_slot_take(size_t bytes)
{
    int class = 0;
    while (class < SIZE_CLASSES && bytes > most_bytes(class)) {
        class ++;
    }
    if (class == SIZE_CLASSES) {
        return NULL;
    }
    size_class *of = &classes[class];
    gm_slot *slot = of->cold;
    if (of->warm.count > resting(class)) {
        slot = pop(&of->warm);
    } else if (slot) {
        of->cold = slot->next;
    } else {
        slot = fresh(class);
    }
    if (!slot && of->warm.count > 0) {
        slot = pop(&of->warm);
    }
    if (slot) {
        slot->taken = true;
    }
    return slot;
}

static void cool(gm_slot *slot)
{
    size_class *of = &classes[slot->size_class];
    (void)madvise((void *)slot->address, most_bytes(slot->size_class), MADV_DONTNEED);
    slot->next = of->cold;
    of->cold = slot;
}

void gm_slot_give(gm_slot *slot)
{
    queue *warm = &classes[slot->size_class].warm;
    slot->taken = false;
    slot->next = NULL;
    if (warm->count == 0) {
        warm->first = slot;
    } else {
        warm->last->next = slot;
    }
    warm->last = slot;
    warm->count++;
    if (warm->count > most_warm(slot->size_class)) {
        cool(pop(warm));
    }
}

void gm_slots_trim(void)
{
    for (int class = 0; class < SIZE_CLASSES; class ++) {
        while (classes[class].warm.count > 0) {
            cool(pop(&classes[class].warm));
        }
    }
}

const gm_slot *gm_slot_at(uintptr_t address)
{
    for (const chunk *c = chunks; c; c = c->next) {
        if (address - c->base < c->pitch * (size_t)c->used) {
            return &c->slots[(address - c->base) / c->pitch];
        }
    }
    return NULL;
}
