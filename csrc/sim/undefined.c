/*
 * The functions that the compiler's -fsanitize=bounds and =alignment call: where an index is
 * outside of an array, and where an object is not aligned as its type says (GCC only). The former
 * are the arrays that no trace knows, those in registers, on stacks and in structures. The latter
 * are structures, which the host copies in parts, so that no access shows it. libubsan is not
 * linked.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sim/lane.h"
#include "sim/thread.h"

#define HOOK __attribute__((visibility("hidden"), used)) void

/* As the compilers lay them out. */
typedef struct type_description {
    uint16_t kind; /* 0: an integer */
    uint16_t info; /* of an integer: the logarithm of its width, twice, and whether it is signed */
    char name[];   /* in quotes */
} type_description;

typedef struct out_of_bounds {
    const char *file;
    uint32_t line, column;
    const type_description *array, *index;
} out_of_bounds;

typedef struct mismatch {
    const char *file;
    uint32_t line, column;
    const type_description *type;
    unsigned char alignment; /* its logarithm */
    unsigned char kind;
} mismatch;

/* Values of up to 64 bits are handed over as they are. */
static long long value_of(const type_description *type, uintptr_t handed)
{
    unsigned width = 1u << (type->info >> 1), unused = 64 - (width < 64 ? width : 64);
    uint64_t top = (uint64_t)handed << unused;
    return type->info & 1 ? (long long)((int64_t)top >> unused) : (long long)(top >> unused);
}

/* An array of one element at the end of a structure stands for one of any length. */
static bool may_be_longer(const out_of_bounds *data)
{
    const char *bracket = strchr(data->array->name, '[');
    return bracket && strncmp(bracket, "[1]", 3) == 0;
}

HOOK __ubsan_handle_out_of_bounds(const out_of_bounds *data, uintptr_t index);
HOOK __ubsan_handle_out_of_bounds(const out_of_bounds *data, uintptr_t index)
{
    char what[200];
    if (may_be_longer(data) || !gm_thread_block()) {
        return;
    }
    snprintf(what, sizeof what, "index %lld is out of bounds of an array of type %.120s",
             value_of(data->index, index), data->array->name);
    gm_sim_fault_of(GM_RULE_OUT_OF_BOUNDS, data->file, (int)data->line, what);
}

/* What is done with the object. A member at an address of its own may well be aligned. */
enum {
    LOADED,
    STORED,
    REFERRED_TO, /* as copies of structures do */
    CALLED = 4,  /* a member function of it, such as a vector's assignment */
};

/* Numbers and vectors are moved as a whole, which the trace sees and describes better, unless they
 * are a thread's own. */
static bool is_seen_by_trace(const mismatch *data, uintptr_t address)
{
    const char *name = data->type->name;
    bool is_structure = strstr(name, "struct ") || strstr(name, "union ");
    bool is_vector = strstr(name, "gm_vector");
    gm_region stack;
    bool own = gm_fiber_owns(&gm_thread_block()->fibers, address, &stack);
    if (data->kind > REFERRED_TO && !(data->kind == CALLED && own)) {
        return true;
    }
    return strstr(data->file, "csrc/sim/") || ((!is_structure || is_vector) && !own);
}

HOOK __ubsan_handle_type_mismatch_v1(const mismatch *data, uintptr_t address);
HOOK __ubsan_handle_type_mismatch_v1(const mismatch *data, uintptr_t address)
{
    uintptr_t alignment = (uintptr_t)1 << data->alignment, past = address & (alignment - 1);
    char what[200];
    if (past == 0 || !gm_thread_block() || is_seen_by_trace(data, address)) {
        return;
    }
    snprintf(what, sizeof what,
             "%s of type %.100s at an address that is %u past a multiple of %u: misaligned",
             data->kind == STORED || data->kind == CALLED ? "store" : "load", data->type->name,
             (unsigned)past, (unsigned)alignment);
    gm_sim_fault_of(GM_RULE_MISALIGNED, data->file, (int)data->line, what);
}
