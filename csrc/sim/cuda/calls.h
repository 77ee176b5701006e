/* What the functions under CUDA's names have in common: they know the line that calls them, and
 * some of them exist only to say that the simulator lacks them. */
#ifndef GPUMEM_CUDA_CALLS_H
#define GPUMEM_CUDA_CALLS_H

#include "sim/cuda/language.h"

/* The last parameters. Default arguments are evaluated at the call, and so name its line. */
#define GM_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

/* A step whose own accesses are none of the kernel's: it tells the trace itself what it does. Not
 * inlined where it would be traced, but declared so: -fno-toplevel-reorder keeps other static
 * functions that nobody calls. Clang traces atomic operations unless all is disabled. */
#if defined(GM_BUILD_TRACED) && defined(__clang__)
#define GM_STEP static inline __attribute__((noinline, disable_sanitizer_instrumentation))
#elif defined(GM_BUILD_TRACED)
#define GM_STEP static inline GM_UNTRACED __attribute__((noinline))
#else
#define GM_STEP static inline
#endif

/* A name that compilers refuse wherever it is used, with the reason. */
#if defined(__has_attribute) && __has_attribute(unavailable)
#define GM_REFUSED(reason) __attribute__((unavailable(reason)))
#else
#define GM_REFUSED(reason) __attribute__((error(reason)))
#endif

#define GM_REFUSE_FUNCTION(name, reason)                                                           \
    template <typename... types> GM_REFUSED(reason) void name(types...);

/* Copies the bytes of a value that may have a constructor. The builtin: Clang traces calls of
 * memcpy. */
template <typename to, typename from> static __forceinline__ to gm_bytes_as(const from &value)
{
    static_assert(sizeof(to) >= sizeof(from), "the bytes have to fit");
    to made{};
    __builtin_memcpy((void *)&made, (const void *)&value, sizeof value);
    return made;
}

template <typename type> struct gm_same {
    typedef type as;
};

#endif
