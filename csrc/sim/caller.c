/* The registers of the kernel that has called the simulator: unwinds to the kernel's frame. */
#include "sim/caller.h"

#include <unwind.h>

#include "sim/turns.h"

enum { MOST_FRAMES = 32 }; /* of the simulator, above the kernel's */

/* The general registers that a call preserves, by their numbers in DWARF. */
#if defined(__x86_64__)
static const int preserved[] = {3, 6, 12, 13, 14, 15};
#else
static const int preserved[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
#endif

typedef struct search {
    uintptr_t code;
    int frames;
    gm_caller found;
} search;

static uint64_t hash_of(uint64_t hash, uint64_t value)
{
    return gm_turn_hash(hash, &value, sizeof value);
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument)
{
    search *s = argument;
    if (_Unwind_GetIP(context) != s->code) {
        return ++s->frames < MOST_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
    }
    for (unsigned i = 0; i < sizeof preserved / sizeof preserved[0]; i++) {
        s->found.registers = hash_of(s->found.registers, _Unwind_GetGR(context, preserved[i]));
    }
    s->found.sp = _Unwind_GetCFA(context);
    return _URC_END_OF_STACK;
}

#if defined(__aarch64__)
/* The simulator computes with whole numbers alone, and leaves these registers as they are. */
static uint64_t hash_of_vectors(uint64_t hash)
{
    uint64_t low[8];
    __asm__ volatile("stp d8, d9, [%0]\n\t"
                     "stp d10, d11, [%0, #16]\n\t"
                     "stp d12, d13, [%0, #32]\n\t"
                     "stp d14, d15, [%0, #48]"
                     :
                     : "r"(low)
                     : "memory");
    return gm_turn_hash(hash, low, sizeof low);
}
#else
static uint64_t hash_of_vectors(uint64_t hash)
{
    return hash; /* a call preserves none */
}
#endif

gm_caller gm_caller_of(const void *code)
{
    search s = {.code = (uintptr_t)code, .found = {.registers = hash_of_vectors(1)}};
    (void)_Unwind_Backtrace(visit, &s);
    return s.found;
}
