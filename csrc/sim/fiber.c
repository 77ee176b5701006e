/*
 * Fibers: the stacks, and the switch between them.
 *
 * A switch saves the registers that the calling convention says a function must preserve, and
 * nothing else: no signal mask, no system call. It takes a few nanoseconds, and the simulator makes
 * four per thread and barrier.
 */
#define _GNU_SOURCE
#include "sim/fiber.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STACK_BYTES = 512 * 1024, /* as much as CUDA gives a thread at most; untouched pages are free */
    /* A function with large variables may step over a single page. 17 pages, as stacks an even
     * number of pages apart would share entries of the TLB. */
    GUARD_BYTES = 68 * 1024,
    FIBERS_PER_SLAB = 64,
    MOST_GUARDS = 16 * 1024, /* each splits a mapping, of which a process may have 65530 */
};

typedef struct gm_fiber_slab {
    struct gm_fiber_slab *next;
    char *base;
    size_t bytes;
    int used;
    bool guarded;
    gm_fiber fibers[FIBERS_PER_SLAB];
} gm_fiber_slab;

/* Of the process, wanted or there. */
static atomic_int guards;

/* What a new fiber finds on its stack. */
typedef struct start {
    gm_fiber *fiber;
    gm_fiber_entry entry;
    void *argument;
} start;

static __attribute__((used, noreturn)) void fiber_main(start *s)
{
    for (;;) {
        s->entry(s->fiber, s->argument);
    }
}

#if defined(__x86_64__)

__attribute__((naked, noinline)) void gm_fiber_switch(__attribute__((unused)) void **from,
                                                      __attribute__((unused)) void *to)
{
    __asm__("pushq %rbp\n\t"
            "pushq %rbx\n\t"
            "pushq %r12\n\t"
            "pushq %r13\n\t"
            "pushq %r14\n\t"
            "pushq %r15\n\t"
            "movq %rsp, (%rdi)\n\t"
            "movq %rsi, %rsp\n\t"
            "popq %r15\n\t"
            "popq %r14\n\t"
            "popq %r13\n\t"
            "popq %r12\n\t"
            "popq %rbx\n\t"
            "popq %rbp\n\t"
            "ret");
}

/* The first switch returns into this, with the start record in rbx. */
static __attribute__((naked, used)) void fiber_begin(void)
{
    __asm__("movq %rbx, %rdi\n\t"
            "xorl %ebp, %ebp\n\t"
            "call *%r12");
}

static void *prepare(char *top, start *s)
{
    void **sp = (void **)top;
    *--sp = NULL; /* two words, so that the stack is 16-byte aligned at the call */
    *--sp = NULL;
    *--sp = (void *)(uintptr_t)fiber_begin;
    *--sp = NULL;                          /* rbp */
    *--sp = s;                             /* rbx */
    *--sp = (void *)(uintptr_t)fiber_main; /* r12 */
    *--sp = NULL;                          /* r13 */
    *--sp = NULL;                          /* r14 */
    *--sp = NULL;                          /* r15 */
    return sp;
}

#elif defined(__aarch64__)

__asm__(".text\n"
        ".balign 4\n"
        ".hidden gm_fiber_switch\n"
        ".globl gm_fiber_switch\n"
        ".type gm_fiber_switch, %function\n"
        "gm_fiber_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size gm_fiber_switch, . - gm_fiber_switch\n"
        ".hidden gm_fiber_begin\n"
        ".globl gm_fiber_begin\n"
        ".type gm_fiber_begin, %function\n"
        "gm_fiber_begin:\n"
        "    mov x0, x19\n"
        "    blr x20\n"
        "    brk #0\n"
        ".size gm_fiber_begin, . - gm_fiber_begin\n");

extern __attribute__((visibility("hidden"))) void gm_fiber_begin(void);

static void *prepare(char *top, start *s)
{
    void **sp = (void **)(top - 160);
    memset(sp, 0, 160);
    sp[0] = s;                                  /* x19 */
    sp[1] = (void *)(uintptr_t)fiber_main;      /* x20 */
    sp[11] = (void *)(uintptr_t)gm_fiber_begin; /* x30 */
    return sp;
}

#else

/* Other processors: slower, but standard. A context is a ucontext_t on the fiber's own stack. */
#include <ucontext.h>

void gm_fiber_switch(void **from, void *to)
{
    ucontext_t here;
    *from = &here;
    swapcontext(&here, to);
}

static void *prepare(char *top, start *s)
{
    ucontext_t *context = (ucontext_t *)(((uintptr_t)top - sizeof(ucontext_t)) & ~(uintptr_t)63);
    getcontext(context);
    context->uc_link = NULL;
    context->uc_stack.ss_sp = s->fiber->stack;
    context->uc_stack.ss_size = (size_t)((char *)context - s->fiber->stack);
    makecontext(context, (void (*)(void))fiber_main, 1, s);
    return context;
}

#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (void)0
#endif

static gm_fiber_slab *slab_create(void)
{
    size_t pitch = STACK_BYTES + GUARD_BYTES;
    gm_fiber_slab *slab = calloc(1, sizeof *slab);
    if (!slab) {
        return NULL;
    }
    slab->bytes = pitch * FIBERS_PER_SLAB;
    slab->base = mmap(NULL, slab->bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (slab->base == MAP_FAILED) {
        free(slab);
        return NULL;
    }
    (void)madvise(slab->base, slab->bytes, MADV_NOHUGEPAGE);
    /* Without a guard an overflow is not diagnosed. */
    slab->guarded = atomic_fetch_add(&guards, FIBERS_PER_SLAB) < MOST_GUARDS;
    for (int i = 0; i < FIBERS_PER_SLAB; i++) {
        char *guard = slab->base + (size_t)i * pitch;
        if (slab->guarded) {
            (void)mprotect(guard, GUARD_BYTES, PROT_NONE);
        }
        slab->fibers[i].stack = guard + GUARD_BYTES;
        slab->fibers[i].stack_bytes = STACK_BYTES;
    }
    return slab;
}

gm_fiber *gm_fiber_take(gm_fiber_pool *pool, gm_fiber_entry entry, void *argument)
{
    gm_fiber *fiber = pool->idle;
    if (fiber) {
        pool->idle = fiber->next;
        return fiber;
    }
    gm_fiber_slab *slab = pool->slabs;
    if (!slab || slab->used == FIBERS_PER_SLAB) {
        slab = slab_create();
        if (!slab) {
            return NULL;
        }
        slab->next = pool->slabs;
        pool->slabs = slab;
    }
    int index = slab->used++;
    fiber = &slab->fibers[index];

    /* Tops at the same offset in every stack would share a few sets of the cache. */
    size_t colour = (size_t)(index % 32) * 192;
    char *top = fiber->stack + fiber->stack_bytes - colour - sizeof(start);
    start *s = (start *)((uintptr_t)top & ~(uintptr_t)63);
    *s = (start){fiber, entry, argument};
    fiber->context = prepare((char *)s, s);
    return fiber;
}

void gm_fiber_give(gm_fiber_pool *pool, gm_fiber *fiber)
{
    fiber->next = pool->idle;
    pool->idle = fiber;
}

bool gm_fiber_owns(const gm_fiber_pool *pool, uintptr_t address, gm_region *stack)
{
    const uintptr_t pitch = STACK_BYTES + GUARD_BYTES;
    for (const gm_fiber_slab *slab = pool->slabs; slab; slab = slab->next) {
        if (address - (uintptr_t)slab->base < slab->bytes) {
            uintptr_t begin = address - (address - (uintptr_t)slab->base) % pitch;
            *stack = (gm_region){begin, begin + pitch};
            return true;
        }
    }
    return false;
}

void gm_fiber_pool_free(gm_fiber_pool *pool)
{
    while (pool->slabs) {
        gm_fiber_slab *slab = pool->slabs;
        pool->slabs = slab->next;
        /* Fibers that stopped in mid-kernel left variables there. */
        ASAN_UNPOISON_MEMORY_REGION(slab->base, slab->bytes);
        munmap(slab->base, slab->bytes);
        atomic_fetch_sub(&guards, FIBERS_PER_SLAB);
        free(slab);
    }
    pool->idle = NULL;
}
