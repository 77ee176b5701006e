/* The registers of interrupted code, in a signal handler. */
#ifndef GPUMEM_SIM_MACHINE_H
#define GPUMEM_SIM_MACHINE_H

#include <stdint.h>
#include <ucontext.h>

#include "sim/turns.h"

typedef struct gm_machine {
    uintptr_t pc, sp; /* 0 on processors that are not known here */
} gm_machine;

#if defined(__x86_64__)

static inline gm_machine gm_machine_read(const void *context)
{
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    return (gm_machine){(uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RSP]};
}

/* Of all that code computes with. */
static inline uint64_t gm_machine_hash(const void *context)
{
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
    uint64_t hash = gm_turn_hash(1, m->gregs, (REG_RIP + 1) * sizeof m->gregs[0]);
    return m->fpregs ? gm_turn_hash(hash, m->fpregs->_xmm, sizeof m->fpregs->_xmm) : hash;
}

/* Where a function was called from that has not begun. */
static inline uintptr_t gm_machine_caller(const void *context)
{
    return *(const uintptr_t *)gm_machine_read(context).sp;
}

/* Once the handler returns, calls function(first, second), which never returns, on this stack. */
static inline void gm_machine_call(void *context, uintptr_t stack, uintptr_t function,
                                   uintptr_t first, uintptr_t second)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_RSP] = (greg_t)((stack & ~(uintptr_t)15) - 8);
    registers[REG_RIP] = (greg_t)function;
    registers[REG_RDI] = (greg_t)first;
    registers[REG_RSI] = (greg_t)second;
}

#elif defined(__aarch64__)

static inline gm_machine gm_machine_read(const void *context)
{
    const mcontext_t *registers = &((const ucontext_t *)context)->uc_mcontext;
    return (gm_machine){registers->pc, registers->sp};
}

/* Without the vector registers, which lie in records of varying length behind the others. */
static inline uint64_t gm_machine_hash(const void *context)
{
    const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
    return gm_turn_hash(m->pc, m->regs, sizeof m->regs);
}

static inline uintptr_t gm_machine_caller(const void *context)
{
    return ((const ucontext_t *)context)->uc_mcontext.regs[30];
}

static inline void gm_machine_call(void *context, uintptr_t stack, uintptr_t function,
                                   uintptr_t first, uintptr_t second)
{
    mcontext_t *registers = &((ucontext_t *)context)->uc_mcontext;
    registers->sp = stack & ~(uintptr_t)15;
    registers->pc = function;
    registers->regs[0] = first;
    registers->regs[1] = second;
}

#else

static inline gm_machine gm_machine_read(const void *context)
{
    (void)context;
    return (gm_machine){0, 0};
}

static inline uint64_t gm_machine_hash(const void *context)
{
    (void)context;
    return 0;
}

static inline uintptr_t gm_machine_caller(const void *context)
{
    (void)context;
    return 0;
}

static inline void gm_machine_call(void *context, uintptr_t stack, uintptr_t function,
                                   uintptr_t first, uintptr_t second)
{
    (void)context, (void)stack, (void)function, (void)first, (void)second;
}

#endif

#endif
