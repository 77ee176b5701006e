/* Unwritten local variables and guards: two bits per byte, in a hash table of lines of 64 bytes. */
#include "sim/locals.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64, FIRST_SIZE = 256 };

typedef struct line {
    uintptr_t number; /* address / LINE; 0: the slot is empty */
    uint64_t unwritten, guard;
} line;

typedef struct variable {
    uintptr_t address;
    size_t bytes;
    int depth; /* of the function that it belongs to */
    gm_local what;
} variable;

typedef struct frames {
    variable *variables;
    int count, room, depth;
} frames;

struct gm_locals {
    frames *threads;
    int thread_count;
    line *lines;                  /* lines stay in the table until it is cleared */
    size_t size, used, unwritten; /* slots, lines, lines with unwritten bytes */
    size_t guards;                /* that are known */
};

gm_locals *gm_locals_create(int threads)
{
    gm_locals *locals = calloc(1, sizeof *locals);
    if (locals) {
        locals->thread_count = threads;
        locals->threads = calloc((size_t)threads, sizeof *locals->threads);
        locals->lines = calloc(FIRST_SIZE, sizeof *locals->lines);
        locals->size = FIRST_SIZE;
        if (!locals->threads || !locals->lines) {
            gm_locals_destroy(locals);
            return NULL;
        }
    }
    return locals;
}

void gm_locals_destroy(gm_locals *locals)
{
    for (int i = 0; locals && locals->threads && i < locals->thread_count; i++) {
        free(locals->threads[i].variables);
    }
    if (locals) {
        free(locals->threads);
        free(locals->lines);
        free(locals);
    }
}

void gm_locals_clear(gm_locals *locals)
{
    for (int i = 0; i < locals->thread_count; i++) {
        locals->threads[i].count = locals->threads[i].depth = 0;
    }
    if (locals->used > 0) {
        memset(locals->lines, 0, locals->size * sizeof *locals->lines);
    }
    locals->used = locals->unwritten = locals->guards = 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* The slot of a line, or the empty one where it belongs. */
static line *find(const gm_locals *locals, uintptr_t number)
{
    size_t slot = (size_t)((number * UINT64_C(0x9E3779B97F4A7C15)) >> 20);
    for (;; slot++) {
        line *at = &locals->lines[slot & (locals->size - 1)];
        if (at->number == number || at->number == 0) {
            return at;
        }
    }
}

static bool grow(gm_locals *locals)
{
    line *old = locals->lines;
    size_t old_size = locals->size;
    line *lines = calloc(2 * old_size, sizeof *lines);
    if (!lines) {
        return false;
    }
    locals->lines = lines;
    locals->size = 2 * old_size;
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].number) {
            *find(locals, old[i].number) = old[i];
        }
    }
    free(old);
    return true;
}

/* The bits of those bytes of a line that lie in [begin, end). */
static uint64_t bits_of(uintptr_t number, uintptr_t begin, uintptr_t end)
{
    uintptr_t first = number * LINE;
    uint64_t bits = ~UINT64_C(0);
    bits &= begin > first ? bits << (begin - first) : bits;
    bits &= end < first + LINE ? ~UINT64_C(0) >> (first + LINE - end) : bits;
    return bits;
}

static bool mark(gm_locals *locals, uintptr_t begin, uintptr_t end, bool guard)
{
    for (uintptr_t number = begin / LINE; number * LINE < end; number++) {
        if (2 * locals->used >= locals->size && !grow(locals)) {
            return false;
        }
        line *at = find(locals, number);
        locals->used += at->number == 0;
        at->number = number;
        if (guard) {
            at->guard |= bits_of(number, begin, end);
        } else {
            locals->unwritten += at->unwritten == 0;
            at->unwritten |= bits_of(number, begin, end);
        }
    }
    return true;
}

void gm_locals_write(gm_locals *locals, uintptr_t address, size_t bytes)
{
    uintptr_t end = address + bytes;
    for (uintptr_t number = address / LINE; number * LINE < end; number++) {
        line *at = find(locals, number);
        if (at->unwritten) {
            at->unwritten &= ~bits_of(number, address, end);
            locals->unwritten -= at->unwritten == 0;
        }
    }
}

bool gm_locals_any(const gm_locals *locals)
{
    return locals->unwritten + locals->guards > 0;
}

bool gm_locals_guarded(const gm_locals *locals, uintptr_t address, size_t bytes)
{
    uintptr_t end = address + bytes;
    for (uintptr_t number = address / LINE; locals->guards > 0 && number * LINE < end; number++) {
        if (find(locals, number)->guard & bits_of(number, address, end)) {
            return true;
        }
    }
    return false;
}

static void remove_guard(gm_locals *locals, uintptr_t begin, uintptr_t end)
{
    for (uintptr_t number = begin / LINE; number * LINE < end; number++) {
        find(locals, number)->guard &= ~bits_of(number, begin, end);
    }
    locals->guards--;
}

bool gm_locals_unwritten(const gm_locals *locals, uintptr_t address, size_t bytes)
{
    uintptr_t end = address + bytes;
    for (uintptr_t number = address / LINE; number * LINE < end; number++) {
        uint64_t bits = bits_of(number, address, end);
        if ((find(locals, number)->unwritten & bits) != bits) {
            return false;
        }
    }
    return bytes > 0;
}

/* ---- variables ------------------------------------------------------------------------------ */

gm_status gm_locals_add(gm_locals *locals, int thread, uintptr_t address, size_t bytes,
                        gm_local what)
{
    frames *of = &locals->threads[thread];
    bool known = false; /* from an earlier turn of a loop */
    for (int i = of->count - 1; i >= 0 && of->variables[i].depth == of->depth && !known; i--) {
        known = of->variables[i].address == address && of->variables[i].bytes == bytes;
    }
    if (!known && of->count == of->room) {
        int room = of->room ? 2 * of->room : 8;
        variable *variables = realloc(of->variables, (size_t)room * sizeof *variables);
        if (!variables) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for local variables");
        }
        of->variables = variables;
        of->room = room;
    }
    if (!known) {
        of->variables[of->count++] = (variable){address, bytes, of->depth, what};
        locals->guards += what == GM_LOCAL_GUARD;
    }
    return mark(locals, address, address + bytes, what == GM_LOCAL_GUARD)
               ? GM_OK
               : gm_fail(GM_ERROR_MEMORY, "out of memory for local variables");
}

void gm_locals_end_guard(gm_locals *locals, int thread, uintptr_t address)
{
    frames *of = &locals->threads[thread];
    for (int i = of->count; i-- > 0;) {
        variable *one = &of->variables[i];
        if (one->address == address && one->what == GM_LOCAL_GUARD) {
            remove_guard(locals, address, address + one->bytes);
            memmove(one, one + 1, (size_t)(of->count - i - 1) * sizeof *one);
            of->count--;
            return;
        }
    }
}

/* Forgets the variables of functions at this depth and of those that they called. */
static void forget(gm_locals *locals, frames *of, int depth)
{
    while (of->count > 0 && of->variables[of->count - 1].depth >= depth) {
        variable gone = of->variables[--of->count];
        if (gone.what == GM_LOCAL_GUARD) {
            remove_guard(locals, gone.address, gone.address + gone.bytes);
        } else {
            gm_locals_write(locals, gone.address, gone.bytes);
        }
    }
}

void gm_locals_function_begins(gm_locals *locals, int thread)
{
    locals->threads[thread].depth++;
}

void gm_locals_function_ends(gm_locals *locals, int thread)
{
    frames *of = &locals->threads[thread];
    forget(locals, of, of->depth);
    of->depth--;
    /* The function may have returned a structure, which is no reported store. */
    for (int i = of->count - 1; i >= 0 && of->variables[i].depth == of->depth; i--) {
        if (of->variables[i].what == GM_LOCAL_STRUCTURE) {
            gm_locals_write(locals, of->variables[i].address, of->variables[i].bytes);
        }
    }
}

void gm_locals_thread_ends(gm_locals *locals, int thread)
{
    forget(locals, &locals->threads[thread], 0);
    locals->threads[thread].depth = 0;
}
