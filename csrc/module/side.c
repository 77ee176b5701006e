/*
 * The simulator's functions in a module of kernels that is loaded at run time: each jumps to the
 * address that the simulator gave for it. A jump, and not a call: the return address stays that of
 * the kernel, by which the simulator knows the source line.
 */
#include <stddef.h>
#include <stdlib.h>

#include "backend/sim_kernels.h"
#include "sim/lane.h"
#include "sim/module_kernel.h"

#define HIDDEN __attribute__((visibility("hidden")))

GM_THREAD_LOCAL gm_lane_state gm_lane;

/* Until the simulator has given its functions: constructors of the module call __tsan_init. */
static void nothing(void)
{
}

/* And those of a C++ library that is linked statically take memory. This name of malloc is the
 * host's: the others are below. */
static void *early_malloc_aligned(size_t bytes, size_t alignment)
{
    return aligned_alloc(alignment, (bytes + alignment - 1) & -alignment);
}

static void *early_malloc(size_t bytes)
{
    return early_malloc_aligned(bytes, _Alignof(max_align_t));
}

#if defined(__x86_64__)
#define JUMP(name) "    jmp *gm_entry_" name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name)                                                                                 \
    "    adrp x16, gm_entry_" name "\n"                                                            \
    "    ldr x16, [x16, :lo12:gm_entry_" name "]\n"                                                \
    "    br x16\n"
#else
#error "modules of kernels are loaded on x86-64 and aarch64 only"
#endif

/* A function that jumps to an entry; `binding` is .globl or .weak. */
#define FUNCTION(binding, name, entry)                                                             \
    __asm__(".text\n"                                                                              \
            ".hidden " name "\n" binding " " name "\n"                                             \
            ".type " name ", %function\n" name ":\n" JUMP(entry) ".size " name ", .-" name "\n")

#define ENTRY_FROM(name, first)                                                                    \
    HIDDEN gm_entry_point gm_entry_##name = (gm_entry_point)first;                                 \
    FUNCTION(".globl", #name, #name);
#define ENTRY(name) ENTRY_FROM(name, nothing)
#include "sim/entry_points.def"
#undef ENTRY

/* C's and C++'s functions for the heap, under their names in the compiler's output. Weak, since a
 * source may define operators of its own. */
#define MALLOC(name) FUNCTION(".weak", name, "gm_sim_malloc")
#define ALIGNED(name) FUNCTION(".weak", name, "gm_sim_malloc_aligned")
#define FREE(name) FUNCTION(".weak", name, "gm_sim_free")
MALLOC("malloc");
MALLOC("_Znwm");
MALLOC("_Znam");
MALLOC("_ZnwmRKSt9nothrow_t");
MALLOC("_ZnamRKSt9nothrow_t");
ALIGNED("_ZnwmSt11align_val_t");
ALIGNED("_ZnamSt11align_val_t");
FREE("free");
FREE("_ZdlPv");
FREE("_ZdaPv");
FREE("_ZdlPvm");
FREE("_ZdaPvm");
FREE("_ZdlPvSt11align_val_t");
FREE("_ZdaPvSt11align_val_t");
FREE("_ZdlPvmSt11align_val_t");
FREE("_ZdaPvmSt11align_val_t");

static gm_entry_point *const slots[] = {
#define ENTRY(name) &gm_entry_##name,
#include "sim/entry_points.def"
#undef ENTRY
};

/* Written by the C++ compiler, behind the kernels. */
extern const gm_module_kernel gm_module_kernels[];
extern const gm_module_variable gm_module_variables[];

__attribute__((visibility("default"))) gm_module_open_function gm_module_open;

const struct gm_module *gm_module_open(const gm_entry_point *entries, int count,
                                       const gm_module_kernel **kernels,
                                       const gm_module_variable **variables)
{
    if (count != (int)(sizeof slots / sizeof *slots)) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        *slots[i] = entries[i];
    }
    *kernels = gm_module_kernels;
    *variables = gm_module_variables;
    return gm_sim_kernels();
}
