/*
 * The simulator's functions in a module of kernels that is loaded at run time: each jumps to the
 * address that the simulator gave for it. A jump, and not a call: the return address stays that of
 * the kernel, by which the simulator knows the source line.
 */
#include <stddef.h>

#include "backend/sim_kernels.h"
#include "sim/lane.h"
#include "sim/module_kernel.h"

#define HIDDEN __attribute__((visibility("hidden")))

GM_THREAD_LOCAL gm_lane_state gm_lane;

/* Until the simulator has given its functions: constructors of the module call __tsan_init. */
static void nothing(void)
{
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

#define ENTRY(name)                                                                                \
    HIDDEN gm_entry_point gm_entry_##name = nothing;                                               \
    __asm__(".text\n"                                                                              \
            ".hidden " #name "\n"                                                                  \
            ".globl " #name "\n"                                                                   \
            ".type " #name ", %function\n" #name ":\n" JUMP(#name) ".size " #name ", .-" #name     \
                                                                   "\n");
#include "sim/entry_points.def"
#undef ENTRY

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
